#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/encode/encoder.h"

namespace packline::test {

inline std::unique_ptr<Encoder> made(const EncodeSettings& settings) {
  auto encoder = Encoder::make(settings);
  REQUIRE_MESSAGE(encoder.has_value(), (encoder ? "" : encoder.error().text));
  return std::move(*encoder);
}

inline const SourceSettings& source_of(Format format) {
  auto with = [](Format f) {
    SourceSettings settings;
    settings.format = f;
    return settings;
  };
  static const SourceSettings text = with(Format::kText), chat = with(Format::kChat),
                              tokens = with(Format::kTokens);
  return format == Format::kText ? text : format == Format::kChat ? chat : tokens;
}

inline Encoded encoded(const Encoder& encoder, Format format, std::string_view bytes,
                       RecordForm form = RecordForm::kJson) {
  Encoded e = encoder.encode({bytes, &source_of(format), "s0:1", 0, form});
  if (!e.lost) {
    const Status whole = check_samples(e.samples);
    CHECK_MESSAGE(whole.has_value(), (whole ? "" : whole.error().text));
  }
  return e;
}

template <typename T>
std::vector<T> values(const Samples& samples, std::string_view column) {
  const Column* c = samples.find(column);
  REQUIRE(c != nullptr);
  std::vector<T> out;
  for (std::size_t i = 0; i < c->data.count<T>(); ++i) out.push_back(c->data.at<T>(i));
  return out;
}

inline std::vector<std::int32_t> ids_of(const Encoded& e) {
  REQUIRE_MESSAGE(!e.lost, e.text);
  return values<std::int32_t>(e.samples, "input_ids");
}
// Spans as begin, end, begin, end, ...
inline std::vector<std::uint32_t> spans_of(const Encoded& e) {
  REQUIRE(e.samples.find("labels") != nullptr);
  CHECK(e.samples.find("labels")->kind == ColumnKind::kSpans);
  return values<std::uint32_t>(e.samples, "labels");
}

}  // namespace packline::test

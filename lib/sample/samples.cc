#include "lib/sample/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

namespace packline {
namespace {

constexpr std::array<std::pair<std::string_view, std::size_t>, 10> kDTypes{{{"i8", 1},
                                                                            {"u8", 1},
                                                                            {"i16", 2},
                                                                            {"i32", 4},
                                                                            {"i64", 8},
                                                                            {"f16", 2},
                                                                            {"bf16", 2},
                                                                            {"f32", 4},
                                                                            {"f64", 8},
                                                                            {"bool", 1}}};
constexpr std::array<std::string_view, 4> kKinds{"per_token", "ragged", "opaque", "spans"};

std::string sample_name(const Samples& s, std::size_t i) {
  return fmt::format("sample {} (\"{}\")", i, s.ids[i]);
}

tl::unexpected<Error> refuse(std::string text) {
  return fail(ExitCode::kDataRefused, std::move(text));
}

Status check_dtype(const Column& c) {
  const bool scalar = c.item_shape.empty();
  switch (c.kind) {
    case ColumnKind::kPerToken:
      if ((c.name == "input_ids" || c.name == "labels") && (c.dtype != DType::kI32 || !scalar)) {
        return refuse(fmt::format("column \"{}\" must be one i32 a token, is {}{}", c.name,
                                  name_of(c.dtype), scalar ? "" : " with an item shape"));
      }
      return {};
    case ColumnKind::kRagged:
      if (c.name == "labels") return refuse("column \"labels\" must be per_token or spans");
      return {};
    case ColumnKind::kOpaque:
      if (c.name == "labels") return refuse("column \"labels\" must be per_token or spans");
      if (c.dtype == DType::kU8 && scalar) return {};
      return refuse(fmt::format("opaque column \"{}\" must be u8 without an item shape", c.name));
    case ColumnKind::kSpans:
      if (c.dtype == DType::kI32 && scalar) return {};
      return refuse(fmt::format("spans column \"{}\" must be i32 without an item shape", c.name));
  }
  return refuse(fmt::format("column \"{}\" is of a kind that does not exist", c.name));
}

// data.size() == items * item_bytes, without overflow.
Status check_size(const Column& c, std::uint64_t items) {
  std::uint64_t expected = 0;
  const std::size_t item = c.item_bytes();
  if (item == SIZE_MAX || __builtin_mul_overflow(items, std::uint64_t{item}, &expected)) {
    return refuse(fmt::format("column \"{}\" has an item shape that is too large", c.name));
  }
  if (expected == c.data.size()) return {};
  return refuse(fmt::format("column \"{}\" has {} bytes of data, {} items of {} bytes need {}",
                            c.name, c.data.size(), items, item, expected));
}

Status check_spans(const Samples& s, const Column& c) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    std::uint32_t from = 0;
    for (std::uint32_t k = 0; k < c.rows[i]; ++k, at += 2) {
      const auto begin = c.data.at<std::uint32_t>(at);
      const auto end = c.data.at<std::uint32_t>(at + 1);
      if (begin < from || begin >= end || end > s.lengths[i]) {
        return refuse(fmt::format(
            "{}: span {} of column \"{}\" is [{}, {}); spans must ascend within the {} tokens",
            sample_name(s, i), k, c.name, begin, end, s.lengths[i]));
      }
      from = end;
    }
  }
  return {};
}

Status check_column(const Samples& s, const Column& c) {
  if (static_cast<std::size_t>(c.dtype) >= kDTypes.size()) {
    return refuse(fmt::format("column \"{}\" is of a dtype that does not exist", c.name));
  }
  if (Status ok = check_dtype(c); !ok) return ok;
  const bool per_token = c.kind == ColumnKind::kPerToken;
  const std::size_t rows = per_token ? 0 : s.size();
  if (c.rows.size() != rows) {
    return refuse(fmt::format("{} column \"{}\" has rows for {} samples, must have {}",
                              name_of(c.kind), c.name, c.rows.size(), rows));
  }
  const std::uint64_t items =
      per_token ? s.tokens() : std::accumulate(c.rows.begin(), c.rows.end(), std::uint64_t{0});
  if (Status ok = check_size(c, items); !ok) return ok;
  return c.kind == ColumnKind::kSpans ? check_spans(s, c) : Status{};
}

}  // namespace

std::size_t size_of(DType t) { return kDTypes[static_cast<std::size_t>(t)].second; }
std::string_view name_of(DType t) { return kDTypes[static_cast<std::size_t>(t)].first; }

Result<DType> dtype_from(std::string_view name) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].first == name) return static_cast<DType>(i);
  }
  return refuse(fmt::format(
      "dtype \"{}\" does not exist; use i8, u8, i16, i32, i64, f16, bf16, f32, f64 or bool",
      name.substr(0, 40)));
}

std::string_view name_of(ColumnKind k) { return kKinds[static_cast<std::size_t>(k)]; }

Result<ColumnKind> kind_from(std::string_view name) {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i] == name) return static_cast<ColumnKind>(i);
  }
  return refuse(
      fmt::format("column kind \"{}\" does not exist; use per_token, ragged, opaque or spans",
                  name.substr(0, 40)));
}

std::size_t Column::item_bytes() const {
  if (kind == ColumnKind::kSpans) return 2 * sizeof(std::uint32_t);
  if (kind == ColumnKind::kOpaque) return 1;
  std::size_t bytes = size_of(dtype);
  bool overflow = false;
  for (const std::uint32_t n : item_shape) {
    if (n == 0) return 0;
    overflow |= __builtin_mul_overflow(bytes, std::size_t{n}, &bytes);
  }
  return overflow ? SIZE_MAX : bytes;
}

std::uint64_t Samples::tokens() const {
  return std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
}

const Column* Samples::find(std::string_view name) const {
  for (const Column& c : columns) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

Status check_samples(const Samples& s) {
  if (s.ids.size() != s.lengths.size()) {
    return refuse(fmt::format("a group of samples has {} ids and {} lengths", s.ids.size(),
                              s.lengths.size()));
  }
  const std::string* before = nullptr;
  for (const Column& c : s.columns) {
    if (c.name.empty()) return refuse("a column has no name");
    if (before != nullptr && *before >= c.name) {
      return refuse(
          fmt::format("column \"{}\" stands behind \"{}\"; columns stand in the order of "
                      "their names, each once",
                      c.name, *before));
    }
    before = &c.name;
    if (Status ok = check_column(s, c); !ok) return ok;
  }
  const Column* ids = s.find("input_ids");
  if (ids == nullptr && s.size() > 0) {
    return refuse(fmt::format("{}: column \"input_ids\" is missing", sample_name(s, 0)));
  }
  if (ids != nullptr && ids->kind != ColumnKind::kPerToken) {
    return refuse("column \"input_ids\" must be per_token");
  }
  return {};
}

bool is_media(const Samples& s, std::uint32_t sample) {
  return std::any_of(s.columns.begin(), s.columns.end(), [&](const Column& c) {
    return c.kind == ColumnKind::kRagged && c.rows[sample] > 0;
  });
}

}  // namespace packline

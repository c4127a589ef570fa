#include <algorithm>
#include <cstring>

#include "lib/base/check.h"
#include "lib/sample/samples.h"

namespace packline {
namespace {

std::vector<std::int32_t> int32s(const Column& c, std::uint64_t tokens) {
  PL_CHECK_EQ(c.data.size(), tokens * sizeof(std::int32_t));
  std::vector<std::int32_t> values(tokens);
  if (tokens > 0) std::memcpy(values.data(), c.data.data(), c.data.size());
  return values;
}

std::vector<std::int32_t> input_ids(const Samples& s) {
  const Column* ids = s.find("input_ids");
  const std::uint64_t tokens = s.tokens();
  if (ids == nullptr && tokens == 0) return {};
  PL_CHECK(ids != nullptr);
  return int32s(*ids, tokens);
}

}  // namespace

std::vector<std::int32_t> values_of_spans(const Samples& s, const Column& spans) {
  PL_CHECK_EQ(spans.rows.size(), s.size());
  std::vector<std::int32_t> values = input_ids(s);
  std::int32_t* sample = values.data();
  std::size_t at = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    std::uint32_t from = 0;
    for (std::uint32_t k = 0; k < spans.rows[i]; ++k, at += 2) {
      const auto begin = spans.data.at<std::uint32_t>(at);
      const auto end = spans.data.at<std::uint32_t>(at + 1);
      PL_CHECK(from <= begin && begin <= end && end <= s.lengths[i]);
      std::fill(sample + from, sample + begin, kIgnore);
      from = end;
    }
    std::fill(sample + from, sample + s.lengths[i], kIgnore);
    sample += s.lengths[i];
  }
  return values;
}

std::vector<std::int32_t> labels_of(const Samples& s) {
  const Column* labels = s.find("labels");
  std::vector<std::int32_t> values = labels == nullptr ? input_ids(s)
                                     : labels->kind == ColumnKind::kSpans
                                         ? values_of_spans(s, *labels)
                                         : int32s(*labels, s.tokens());
  std::uint64_t first = 0;
  for (const std::uint32_t length : s.lengths) {
    if (length > 0) values[first] = kIgnore;
    first += length;
  }
  return values;
}

}  // namespace packline

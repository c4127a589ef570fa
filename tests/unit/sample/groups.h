#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/sample/samples.h"

namespace packline::test {

using Int32s = std::vector<std::int32_t>;
using Rows = std::vector<std::uint32_t>;

template <typename T>
std::vector<T> values(const Column& c) {
  std::vector<T> v;
  for (std::size_t i = 0; i < c.data.count<T>(); ++i) v.push_back(c.data.at<T>(i));
  return v;
}

inline Column per_token(std::string name, Int32s v) {
  return {std::move(name), DType::kI32, ColumnKind::kPerToken, {}, Buffer::of(std::move(v)), {}};
}

// Two int16 an item.
inline Column ragged(std::string name, std::vector<std::int16_t> v, Rows rows) {
  return {std::move(name),          DType::kI16,    ColumnKind::kRagged, {2},
          Buffer::of(std::move(v)), std::move(rows)};
}

inline Column opaque(std::string name, const std::string& bytes, Rows rows) {
  return {std::move(name),
          DType::kU8,
          ColumnKind::kOpaque,
          {},
          Buffer::of(std::vector<char>(bytes.begin(), bytes.end())),
          std::move(rows)};
}

inline Column spans(std::string name, Rows begin_end, Rows rows) {
  return {std::move(name), DType::kI32, ColumnKind::kSpans, {}, Buffer::of(std::move(begin_end)),
          std::move(rows)};
}

// Three samples of 2, 3 and 1 tokens with every kind of column.
inline Samples three() {
  Samples s;
  s.ids = {"s0:0", "s0:1", "id@s0:2"};
  s.lengths = {2, 3, 1};
  s.columns = {ragged("image", {1, 2, 3, 4, 5, 6}, {2, 0, 1}),
               per_token("input_ids", {10, 11, 20, 21, 22, 30}),
               spans("labels", {1, 2, 0, 3}, {1, 1, 0}), opaque("note", "abcd", {1, 3, 0})};
  return s;
}

inline bool same(const Column& a, const Column& b) {
  return a.name == b.name && a.dtype == b.dtype && a.kind == b.kind &&
         a.item_shape == b.item_shape && a.rows == b.rows &&
         values<std::uint8_t>(a) == values<std::uint8_t>(b);
}

inline bool same(const Samples& a, const Samples& b) {
  if (a.ids != b.ids || a.lengths != b.lengths || a.columns.size() != b.columns.size())
    return false;
  for (std::size_t c = 0; c < a.columns.size(); ++c) {
    if (!same(a.columns[c], b.columns[c])) return false;
  }
  return true;
}

}  // namespace packline::test

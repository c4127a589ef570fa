#include <cstring>

#include "lib/base/check.h"
#include "lib/sample/bytes.h"
#include "lib/sample/samples.h"

namespace packline {
namespace {

using Chosen = std::vector<std::uint32_t>;

// Where each sample's items begin.
std::vector<std::uint64_t> starts(const std::vector<std::uint32_t>& sizes) {
  std::vector<std::uint64_t> sums(sizes.size() + 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) sums[i + 1] = sums[i] + sizes[i];
  return sums;
}

Column gather_column(const Column& from, const std::vector<std::uint64_t>& at,
                     const Chosen& chosen) {
  const std::size_t item = from.item_bytes();
  PL_CHECK_EQ(at.back() * item, from.data.size());
  Column to{from.name, from.dtype, from.kind, from.item_shape, {}, {}};
  std::size_t bytes = 0;
  for (const std::uint32_t i : chosen) bytes += (at[i + 1] - at[i]) * item;
  FreshBytes fresh(bytes);
  for (const std::uint32_t i : chosen) {
    fresh.append({from.data.data() + at[i] * item, (at[i + 1] - at[i]) * item});
  }
  to.data = std::move(fresh).take();
  if (from.kind != ColumnKind::kPerToken) {
    to.rows.reserve(chosen.size());
    for (const std::uint32_t i : chosen) to.rows.push_back(from.rows[i]);
  }
  return to;
}

}  // namespace

Samples gather(const Samples& s, const Chosen& chosen) {
  Samples to;
  to.ids.reserve(chosen.size());
  to.lengths.reserve(chosen.size());
  for (const std::uint32_t i : chosen) {
    PL_CHECK(i < s.size());
    to.ids.push_back(s.ids[i]);
    to.lengths.push_back(s.lengths[i]);
  }
  const std::vector<std::uint64_t> tokens = starts(s.lengths);
  to.columns.reserve(s.columns.size());
  for (const Column& column : s.columns) {
    const bool per_token = column.kind == ColumnKind::kPerToken;
    to.columns.push_back(gather_column(column, per_token ? tokens : starts(column.rows), chosen));
  }
  return to;
}

}  // namespace packline

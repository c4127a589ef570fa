#include "lib/sample/gatherer.h"

#include <cstring>

#include "lib/base/check.h"
#include "lib/sample/bytes.h"

namespace packline {
namespace {

std::vector<std::uint64_t> starts(const std::vector<std::uint32_t>& sizes) {
  std::vector<std::uint64_t> sums(sizes.size() + 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) sums[i + 1] = sums[i] + sizes[i];
  return sums;
}

}  // namespace

Gatherer::Gatherer(const Samples& samples)
    : samples_(samples), tokens_(starts(samples.lengths)), rows_(samples.columns.size()) {
  for (std::size_t c = 0; c < rows_.size(); ++c) {
    const Column& column = samples.columns[c];
    if (column.kind != ColumnKind::kPerToken) rows_[c] = starts(column.rows);
    const std::vector<std::uint64_t>& at = starts_of(c);
    PL_CHECK_EQ(at.size(), samples.size() + 1);
    PL_CHECK_EQ(at.back() * column.item_bytes(), column.data.size());
  }
}

const std::vector<std::uint64_t>& Gatherer::starts_of(std::size_t c) const {
  return samples_.columns[c].kind == ColumnKind::kPerToken ? tokens_ : rows_[c];
}

Column Gatherer::gather_column(std::size_t c, std::span<const std::uint32_t> chosen) const {
  const Column& from = samples_.columns[c];
  const std::vector<std::uint64_t>& at = starts_of(c);
  const std::size_t item = from.item_bytes();
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

Samples Gatherer::gather(std::span<const std::uint32_t> chosen) const {
  Samples to;
  to.ids.reserve(chosen.size());
  to.lengths.reserve(chosen.size());
  for (const std::uint32_t i : chosen) {
    PL_CHECK(i < samples_.size());
    to.ids.push_back(samples_.ids[i]);
    to.lengths.push_back(samples_.lengths[i]);
  }
  to.columns.reserve(samples_.columns.size());
  for (std::size_t c = 0; c < samples_.columns.size(); ++c) {
    to.columns.push_back(gather_column(c, chosen));
  }
  return to;
}

Samples gather(const Samples& s, const std::vector<std::uint32_t>& chosen) {
  return Gatherer(s).gather(chosen);
}

}  // namespace packline

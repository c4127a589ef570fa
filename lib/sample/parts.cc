#include "lib/sample/parts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "lib/base/check.h"

namespace packline {
namespace {

std::uint64_t sum(std::span<const std::uint32_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// What a column has of items in samples [first, first + count); per-token columns by the lengths.
std::span<const std::uint32_t> items_in(const Samples& samples, const Column& column,
                                        std::size_t first, std::size_t count) {
  const auto& all = column.kind == ColumnKind::kPerToken ? samples.lengths : column.rows;
  return std::span(all).subspan(first, count);
}

// Spans [begin, end) in the sample's own tokens -> those of the part.
Column cut_spans(const Column& whole, std::uint32_t begin, std::uint32_t end) {
  Column part{whole.name, whole.dtype, whole.kind, whole.item_shape, {}, {}};
  std::vector<std::uint32_t> bounds;
  for (std::size_t i = 0; i < whole.data.count<std::uint32_t>(); i += 2) {
    const std::uint32_t from = std::max(whole.data.at<std::uint32_t>(i), begin);
    const std::uint32_t to = std::min(whole.data.at<std::uint32_t>(i + 1), end);
    if (from < to) bounds.insert(bounds.end(), {from - begin, to - begin});
  }
  part.rows = {static_cast<std::uint32_t>(bounds.size() / 2)};
  part.data = Buffer::of(std::move(bounds));
  return part;
}

}  // namespace

std::vector<Samples> runs_of(const Samples& samples, std::span<const std::uint32_t> counts) {
  PL_CHECK_EQ(sum(counts), samples.size());
  std::vector<Samples> runs(counts.size());
  std::vector<std::uint64_t> at(samples.columns.size());  // items of each column so far
  std::size_t first = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    Samples& run = runs[r];
    const auto begin = static_cast<std::ptrdiff_t>(first);
    const auto end = static_cast<std::ptrdiff_t>(first + counts[r]);
    run.ids.assign(samples.ids.begin() + begin, samples.ids.begin() + end);
    run.lengths.assign(samples.lengths.begin() + begin, samples.lengths.begin() + end);
    run.columns.reserve(samples.columns.size());
    for (std::size_t c = 0; c < samples.columns.size(); ++c) {
      const Column& column = samples.columns[c];
      const auto items = items_in(samples, column, first, counts[r]);
      const std::uint64_t n = sum(items);
      const std::size_t item = column.item_bytes();
      run.columns.push_back({column.name,
                             column.dtype,
                             column.kind,
                             column.item_shape,
                             column.data.part(at[c] * item, n * item),
                             {}});
      if (column.kind != ColumnKind::kPerToken)
        run.columns.back().rows.assign(items.begin(), items.end());
      at[c] += n;
    }
    first += counts[r];
  }
  return runs;
}

Samples part_of(const Samples& samples, std::uint32_t sample, std::uint32_t begin,
                std::uint32_t end, bool keeps_rows) {
  PL_CHECK(sample < samples.size() && begin < end && end <= samples.lengths[sample]);
  Samples part;
  part.ids = {samples.ids[sample]};
  part.lengths = {end - begin};
  for (const Column& column : samples.columns) {
    const std::size_t item = column.item_bytes();
    const std::uint64_t before = sum(items_in(samples, column, 0, sample));
    const std::uint64_t n = sum(items_in(samples, column, sample, 1));
    Column own{column.name,
               column.dtype,
               column.kind,
               column.item_shape,
               column.data.part(before * item, n * item),
               {}};
    switch (column.kind) {
      case ColumnKind::kPerToken:
        own.data = own.data.part(begin * item, (end - begin) * item);
        break;
      case ColumnKind::kSpans:
        own = cut_spans(own, begin, end);
        break;
      case ColumnKind::kRagged:
      case ColumnKind::kOpaque:
        if (!keeps_rows) own.data = {};
        own.rows = {keeps_rows ? static_cast<std::uint32_t>(n) : 0};
        break;
    }
    part.columns.push_back(std::move(own));
  }
  return part;
}

}  // namespace packline

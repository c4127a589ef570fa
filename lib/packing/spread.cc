#include <algorithm>
#include <numeric>
#include <queue>

#include "lib/base/check.h"
#include "lib/packing/bins.h"

namespace packline {
namespace {

void sort_largest_first(Sizes sizes, std::vector<std::uint32_t>& samples) {
  std::sort(samples.begin(), samples.end(), [&](std::uint32_t a, std::uint32_t b) {
    return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b;
  });
}

std::uint64_t total(Sizes sizes, std::span<const std::uint32_t> bin) {
  std::uint64_t sum = 0;
  for (const std::uint32_t s : bin) sum += sizes[s];
  return sum;
}

// A bin among others in a queue.
struct Load {
  std::uint64_t tokens;
  std::uint32_t bin;
};
struct LeastFirst {
  bool operator()(const Load& a, const Load& b) const {
    return a.tokens != b.tokens ? a.tokens > b.tokens : a.bin > b.bin;
  }
};
struct MostFirst {
  bool operator()(const Load& a, const Load& b) const {
    return a.tokens != b.tokens ? a.tokens < b.tokens : a.bin > b.bin;
  }
};

std::optional<Bins> spread_these(Sizes sizes, std::vector<std::uint32_t> samples,
                                 std::uint32_t target, BinLimit limit) {
  sort_largest_first(sizes, samples);
  std::priority_queue<Load, std::vector<Load>, LeastFirst> least;
  for (std::uint32_t b = 0; b < target; ++b) least.push({0, b});
  Bins even(target);
  for (const std::uint32_t s : samples) {
    if (least.empty()) return std::nullopt;  // every bin has max_samples
    const Load load = least.top();
    if (load.tokens + sizes[s] > limit.capacity) return std::nullopt;
    least.pop();
    even[load.bin].push_back(s);
    if (limit.takes(load.tokens + sizes[s], even[load.bin].size() + 1))
      least.push({load.tokens + sizes[s], load.bin});
  }
  for (auto& bin : even) std::sort(bin.begin(), bin.end());
  return even;
}

// The samples of a bin over two, largest first, each to the emptier one.
std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> halves(
    Sizes sizes, std::vector<std::uint32_t> samples) {
  sort_largest_first(sizes, samples);
  std::vector<std::uint32_t> half[2];
  std::uint64_t tokens[2] = {0, 0};
  for (const std::uint32_t s : samples) {
    const int h = tokens[1] < tokens[0] ? 1 : 0;
    half[h].push_back(s);
    tokens[h] += sizes[s];
  }
  for (auto& h : half) std::sort(h.begin(), h.end());
  return {std::move(half[0]), std::move(half[1])};
}

// How many samples stay in the first part, so that the larger part is smallest.
std::size_t cut_of(Sizes sizes, std::span<const std::uint32_t> bin) {
  const std::uint64_t all = total(sizes, bin);
  std::uint64_t before = 0;
  std::uint64_t best = all;
  std::size_t cut = 1;
  for (std::size_t i = 1; i < bin.size(); ++i) {
    before += sizes[bin[i - 1]];
    const std::uint64_t larger = std::max(before, all - before);
    if (larger < best) {
      best = larger;
      cut = i;
    }
  }
  return cut;
}

}  // namespace

Bins next_fit(Sizes sizes, BinLimit bin, std::uint32_t limit, std::uint32_t& taken) {
  Bins bins;
  std::uint64_t tokens = 0;
  taken = 0;
  for (; taken < sizes.size(); ++taken) {
    PL_CHECK(sizes[taken] - 1 < bin.capacity);
    if (bins.empty() || !bin.takes(tokens + sizes[taken], bins.back().size() + 1)) {
      if (bins.size() == limit) break;
      bins.emplace_back();
      tokens = 0;
    }
    bins.back().push_back(taken);
    tokens += sizes[taken];
  }
  return bins;
}

Bins halve(Sizes sizes, Bins bins, std::uint32_t target) {
  std::priority_queue<Load, std::vector<Load>, MostFirst> most;
  const auto enqueue = [&](std::uint32_t b) {
    if (bins[b].size() >= 2) most.push({total(sizes, bins[b]), b});
  };
  for (std::uint32_t b = 0; b < bins.size(); ++b) enqueue(b);
  while (bins.size() < target && !most.empty()) {
    const std::uint32_t b = most.top().bin;
    most.pop();
    auto [first, second] = halves(sizes, std::move(bins[b]));
    bins[b] = std::move(first);
    bins.push_back(std::move(second));
    enqueue(b);
    enqueue(static_cast<std::uint32_t>(bins.size() - 1));
  }
  bins.resize(target);
  return bins;
}

std::optional<Bins> spread_evenly(Sizes sizes, std::uint32_t target, BinLimit bin) {
  std::vector<std::uint32_t> all(sizes.size());
  std::iota(all.begin(), all.end(), 0U);
  return spread_these(sizes, std::move(all), target, bin);
}

Bins spread(Sizes sizes, const Bins& bins, std::uint32_t target, BinLimit bin) {
  PL_CHECK(bins.size() <= target);
  if (bins.size() == target) return bins;
  std::vector<std::uint32_t> samples;
  for (const auto& b : bins) samples.insert(samples.end(), b.begin(), b.end());
  if (auto even = spread_these(sizes, std::move(samples), target, bin)) return std::move(*even);
  return halve(sizes, bins, target);
}

Bins spread_in_order(Sizes sizes, Bins bins, std::uint32_t target) {
  PL_CHECK(bins.size() <= target);
  while (bins.size() < target) {
    std::size_t fullest = bins.size();
    std::uint64_t most = 0;
    for (std::size_t b = 0; b < bins.size(); ++b) {
      const std::uint64_t tokens = bins[b].size() >= 2 ? total(sizes, bins[b]) : 0;
      if (tokens > most) {
        most = tokens;
        fullest = b;
      }
    }
    if (fullest == bins.size()) break;
    std::vector<std::uint32_t>& bin = bins[fullest];
    const auto cut = bin.begin() + static_cast<std::ptrdiff_t>(cut_of(sizes, bin));
    std::vector<std::uint32_t> second(cut, bin.end());
    bin.erase(cut, bin.end());
    bins.insert(bins.begin() + static_cast<std::ptrdiff_t>(fullest) + 1, std::move(second));
  }
  bins.resize(target);
  return bins;
}

}  // namespace packline

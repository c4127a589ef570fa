#include <algorithm>
#include <queue>

#include "lib/base/check.h"
#include "lib/base/random.h"
#include "lib/packing/planner.h"

namespace packline {
namespace {

using Lengths = std::span<const std::uint32_t>;

void sort_longest_first(Lengths lengths, std::vector<std::uint32_t>& samples) {
  std::sort(samples.begin(), samples.end(), [&](std::uint32_t a, std::uint32_t b) {
    return lengths[a] != lengths[b] ? lengths[a] > lengths[b] : a < b;
  });
}

// A bin among others in a queue.
struct Load {
  std::uint64_t tokens;
  std::uint32_t bin;
};
struct FewestFirst {
  bool operator()(const Load& a, const Load& b) const {
    return a.tokens != b.tokens ? a.tokens > b.tokens : a.bin > b.bin;
  }
};
struct MostFirst {
  bool operator()(const Load& a, const Load& b) const {
    return a.tokens != b.tokens ? a.tokens < b.tokens : a.bin > b.bin;
  }
};

// The samples over `target` bins, or nothing when one does not fit where it has to go.
Bins spread_evenly(Lengths lengths, const Bins& bins, std::uint32_t target,
                   std::uint32_t capacity) {
  std::vector<std::uint32_t> samples;
  for (const auto& bin : bins) samples.insert(samples.end(), bin.begin(), bin.end());
  sort_longest_first(lengths, samples);
  std::priority_queue<Load, std::vector<Load>, FewestFirst> fewest;
  for (std::uint32_t b = 0; b < target; ++b) fewest.push({0, b});
  Bins even(target);
  for (const std::uint32_t s : samples) {
    const Load load = fewest.top();
    if (load.tokens + lengths[s] > capacity) return {};
    fewest.pop();
    even[load.bin].push_back(s);
    fewest.push({load.tokens + lengths[s], load.bin});
  }
  for (auto& bin : even) std::sort(bin.begin(), bin.end());
  return even;
}

Bins halve(Lengths lengths, Bins bins, std::uint32_t target) {
  std::priority_queue<Load, std::vector<Load>, MostFirst> most;
  const auto enqueue = [&](std::uint32_t b) {
    if (bins[b].size() < 2) return;
    std::uint64_t tokens = 0;
    for (const std::uint32_t s : bins[b]) tokens += lengths[s];
    most.push({tokens, b});
  };
  for (std::uint32_t b = 0; b < bins.size(); ++b) enqueue(b);
  while (bins.size() < target && !most.empty()) {
    const std::uint32_t b = most.top().bin;
    most.pop();
    std::vector<std::uint32_t> samples = std::move(bins[b]);
    sort_longest_first(lengths, samples);
    std::vector<std::uint32_t> half[2];
    std::uint64_t tokens[2] = {0, 0};
    for (const std::uint32_t s : samples) {
      const int h = tokens[1] < tokens[0] ? 1 : 0;
      half[h].push_back(s);
      tokens[h] += lengths[s];
    }
    for (auto& h : half) std::sort(h.begin(), h.end());
    bins[b] = std::move(half[0]);
    bins.push_back(std::move(half[1]));
    enqueue(b);
    enqueue(static_cast<std::uint32_t>(bins.size() - 1));
  }
  bins.resize(target);
  return bins;
}

}  // namespace

Bins spread(std::span<const std::uint32_t> lengths, const Bins& bins, std::uint32_t target,
            std::uint32_t capacity) {
  PL_CHECK(bins.size() <= target);
  Bins even = spread_evenly(lengths, bins, target, capacity);
  return even.size() == target ? even : halve(lengths, bins, target);
}

Bins assign(const PackSettings& settings, Planner& planner, std::uint64_t epoch,
            std::uint64_t window, std::span<const std::uint32_t> lengths, std::uint32_t packs) {
  const bool keeps_order = settings.strategy == Strategy::kSequential;
  Bins bins = keeps_order ? planner.next_fit(lengths) : planner.best_fit_decreasing(lengths);
  PL_CHECK(bins.size() <= packs);
  if (bins.size() < packs) bins = spread(lengths, bins, packs, settings.capacity);
  if (!keeps_order) {
    Rng rng(
        derive(settings.seed, {static_cast<std::uint64_t>(Purpose::kPackOrder), epoch, window}));
    shuffle(bins, rng);
  }
  return bins;
}

}  // namespace packline

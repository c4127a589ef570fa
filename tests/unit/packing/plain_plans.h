#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "lib/base/random.h"
#include "tests/unit/packing/lane.h"

// What tests of plans share: the plain rules, random lengths, and what a bin holds.

namespace packline::test {

// Samples by size, largest first, equal sizes in the order given.
inline Lengths largest_first(const Lengths& lengths) {
  Lengths order(lengths.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return lengths[a] != lengths[b] ? lengths[a] > lengths[b] : a < b;
  });
  return order;
}

// docs/stream.md 5.1 word by word, with one vector of bins and a clock of arrivals.
inline Bins plan_simply(const Lengths& lengths, BinLimit limit,
                        Strategy strategy = Strategy::kBestFitDecreasing) {
  struct Bin {
    std::uint32_t room;
    std::uint64_t came;
    Lengths samples;
  };
  const bool first_fit = strategy == Strategy::kFirstFitDecreasing;
  std::vector<Bin> bins;
  std::uint64_t clock = 0;
  for (const std::uint32_t s : largest_first(lengths)) {
    Bin* best = nullptr;
    for (Bin& bin : bins) {
      if (bin.room < lengths[s]) continue;
      if (limit.max_samples > 0 && bin.samples.size() == limit.max_samples) continue;
      if (best != nullptr && first_fit) continue;
      if (best == nullptr || bin.room < best->room ||
          (bin.room == best->room && bin.came > best->came)) {
        best = &bin;
      }
    }
    if (best == nullptr) best = &bins.emplace_back(Bin{limit.capacity, 0, {}});
    best->room -= lengths[s];
    best->came = ++clock;
    best->samples.push_back(s);
  }
  Bins out;
  for (Bin& bin : bins) {
    std::sort(bin.samples.begin(), bin.samples.end());
    out.push_back(std::move(bin.samples));
  }
  return out;
}

// Around capacity / d, so that bins hold from one to many samples.
inline Lengths random_lengths(Rng& rng, std::size_t n, std::uint32_t capacity) {
  const auto d = static_cast<std::uint32_t>(1 + rng.below(8));
  const std::uint32_t most = std::max(1U, capacity / d);
  const auto least = static_cast<std::uint32_t>(1 + rng.below(most));
  Lengths lengths(n);
  for (auto& length : lengths) {
    length = static_cast<std::uint32_t>(least + rng.below(most - least + 1));
  }
  return lengths;
}

inline Bins best_fit(std::uint32_t capacity, const Lengths& lengths) {
  return bins_of(Planner(BinLimit{capacity}).plan(lengths));
}

inline Lengths tokens_of(const Lengths& lengths, const Bins& bins) {
  Lengths tokens;
  for (const auto& bin : bins) {
    tokens.push_back(std::accumulate(bin.begin(), bin.end(), 0U,
                                     [&](auto sum, auto s) { return sum + lengths[s]; }));
  }
  return tokens;
}

// Every one of n samples in one bin, ascending within it.
inline bool each_in_one(const Bins& bins, std::size_t n) {
  Lengths seen;
  for (const auto& bin : bins) {
    if (!std::is_sorted(bin.begin(), bin.end())) return false;
    seen.insert(seen.end(), bin.begin(), bin.end());
  }
  std::sort(seen.begin(), seen.end());
  Lengths all(n);
  std::iota(all.begin(), all.end(), 0U);
  return seen == all;
}

}  // namespace packline::test

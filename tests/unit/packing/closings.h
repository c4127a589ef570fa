#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/unit/packing/lane.h"

// Single windows of a few samples, and how to look at them.

namespace packline::test {

inline PackSettings small(std::uint32_t capacity, std::uint32_t packs, std::uint32_t ahead,
                          std::uint32_t windows_max) {
  PackSettings s;
  s.capacity = capacity;
  s.packs_per_window = packs;
  s.lookahead_packs = ahead;
  s.lookahead_windows_max = windows_max;
  return s;
}

inline Closing close_candidates(const PackSettings& settings,
                                const std::vector<Candidate>& candidates, bool at_end,
                                std::uint64_t epoch = 0, std::uint64_t window = 0) {
  Planner planner(settings);
  return close_window(settings, planner, epoch, window, candidates, at_end);
}

inline Closing close(const PackSettings& settings, const Lengths& lengths, bool at_end) {
  std::vector<Candidate> candidates;
  for (const auto length : lengths) candidates.push_back({length});
  return close_candidates(settings, candidates, at_end);
}

// The candidates of each pack, as delivered.
inline Bins bins_in(const Packs& packs) {
  Bins bins;
  for (const auto& pack : packs) {
    bins.emplace_back();
    for (const Placed& p : pack) bins.back().push_back(p.candidate);
  }
  return bins;
}
inline Bins bins_in(const Closing& closing) { return bins_in(packs_of(closing)); }

// The same without the order of delivery.
inline Bins sorted(const Packs& packs) {
  Bins bins = bins_in(packs);
  std::sort(bins.begin(), bins.end());
  return bins;
}

}  // namespace packline::test

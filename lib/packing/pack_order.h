#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/packing/closing.h"

namespace packline {

// Section 5.4 of docs/stream.md: the packs of a window, in the order of opening, are put in the
// order of delivery: shuffled by (seed, epoch, window), whole groups of dp_size_multiple at a time
// where the packs of a group are to be alike, not at all where the strategy keeps the order.
void put_in_order(const PackSettings& settings, std::uint64_t epoch, std::uint64_t window,
                  std::span<const Candidate> candidates, std::vector<std::vector<Placed>>& packs);

// The same for packs of which only what it is decided by is known; returns the order.
struct PackCost {
  std::uint64_t cost = 0;
  bool media = false;
};
std::vector<std::uint32_t> pack_order(const PackSettings& settings, std::uint64_t epoch,
                                      std::uint64_t window, std::span<const PackCost> packs);

// What a sample of so many tokens adds to the cost of its pack.
inline std::uint64_t cost_of(const PackSettings& settings, std::uint64_t tokens) {
  return settings.cost_per_token * tokens + tokens * tokens;
}

}  // namespace packline

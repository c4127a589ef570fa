#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/packing/room_set.h"
#include "lib/packing/settings.h"

namespace packline {

// The samples of each bin, as indices into the lengths given, ascending within a bin; bins in the
// order in which they were opened. docs/stream.md section 5 is the exact definition.
using Bins = std::vector<std::vector<std::uint32_t>>;

// The same without a list a bin: the bin of each length given. Valid until the planner's next call.
struct Plan {
  std::uint32_t bins = 0;
  std::span<const std::uint32_t> bin_of;
};

// Plans lengths into bins of a capacity. Reuses its memory between calls; one thread at a time.
// Lengths are 1..capacity.
//
// Best fit decreasing: lengths by counting sort (longest first, equal lengths in the order given);
// each goes to the bin with the least free room that still takes it; of several with that room, to
// the one that came to it last; where none takes it a bin is opened. Free room is found in a bitset
// of three levels, so a placement is a few nanoseconds (Johnson 1973 for the rule; the bound is
// 11/9 OPT + 6/9, Dosa 2007).
//
// Equal lengths are placed a bin at a time: after a bin of the least room has taken one, what it
// has left is the least room again, if it takes another at all; so it takes as many as fit.
// Counting needs not even the bins, only how many have which room.
//
// Memory: 20 bytes a token of capacity, 8 bytes a length and 4 bytes a bin of the largest plan.
class Planner {
 public:
  explicit Planner(std::uint32_t capacity);

  // How many bins best_fit_decreasing() would use; stops early and returns limit + 1 when that is
  // more than `limit`.
  std::uint32_t count_bins(std::span<const std::uint32_t> lengths, std::uint32_t limit);
  Bins best_fit_decreasing(std::span<const std::uint32_t> lengths);
  Plan plan(std::span<const std::uint32_t> lengths);

  // Next fit in the order given: a sample that does not fit closes the bin for good.
  Bins next_fit(std::span<const std::uint32_t> lengths) const;

 private:
  void count_lengths(std::span<const std::uint32_t> lengths);
  void sort_longest_first(std::span<const std::uint32_t> lengths);
  void forget_lengths();
  void add_bins(std::uint32_t room, std::uint32_t bins);
  void push(std::uint32_t room, std::uint32_t bin);
  std::uint32_t pop(std::uint32_t room);

  std::uint32_t capacity_;
  // Between calls the sets and all counts are empty.
  RoomSet lengths_;                   // capacity - length of each length that occurs
  std::vector<std::uint32_t> count_;  // of a length
  std::vector<std::uint32_t> end_;    // of a length's run in order_
  std::vector<std::uint32_t> order_;  // the samples, longest first
  RoomSet rooms_;                     // the free rooms above 0 that some bin has
  std::vector<std::uint32_t> bins_;   // counting: how many bins have a room; planning: the bin that
                                      // came to it last, plus 1
  std::vector<std::uint32_t> below_;  // of a bin: the one that came to its room before it, plus 1
  std::vector<std::uint32_t> bin_of_;
};

// Exactly `target` bins, target >= bins.size(): samples, longest first, each to the bin with the
// fewest tokens (the first of equals); where one does not fit that way, instead the bin with the
// most tokens among those of two samples or more is halved until there are `target`, and empty bins
// follow when no bin can be halved. Samples ascend within a bin. docs/stream.md section 5.3.
Bins spread(std::span<const std::uint32_t> lengths, const Bins& bins, std::uint32_t target,
            std::uint32_t capacity);

// The bins of a window's samples in the order of its packs: planned by the strategy, spread to
// exactly `packs`, shuffled by (seed, epoch, window) unless the strategy keeps the order. The one
// function that says which sample stands in which pack; the producer closes windows so that it
// succeeds, the packer calls it. CHECKs that the plan needs at most `packs` bins.
Bins assign(const PackSettings& settings, Planner& planner, std::uint64_t epoch,
            std::uint64_t window, std::span<const std::uint32_t> lengths, std::uint32_t packs);

}  // namespace packline

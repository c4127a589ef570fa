#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/packing/bins.h"
#include "lib/packing/room_set.h"
#include "lib/packing/room_tree.h"
#include "lib/packing/settings.h"

namespace packline {

// The bin of each size given, without a list a bin. Valid until the planner's next call.
struct Plan {
  std::uint32_t bins = 0;
  std::span<const std::uint32_t> bin_of;
};

// The same as lists.
Bins bins_of(const Plan& plan);

// Plans sizes into bins of a capacity, largest first (counting sort, equal sizes in the order
// given), by best fit or first fit. Reuses its memory between calls; one thread at a time. Sizes
// are 1..capacity.
//
// Best fit: each goes to the bin with the least free room that still takes it; of several with that
// room, to the one that came to it last; where none takes it a bin is opened. Free room is found in
// a bitset of three levels, so a placement is a few nanoseconds (Johnson 1973 for the rule; the
// bound is 11/9 OPT + 6/9, Dosa 2007). First fit: each goes to the first bin that takes it.
//
// Equal sizes are placed a bin at a time: after a bin has taken one, it is the right one again, if
// it takes another at all; so it takes as many as fit. Counting for best fit needs not even the
// bins, only how many have which room.
//
// Memory: 20 bytes a token of capacity, 8 bytes a size, and 4 bytes a bin (8 with max_samples or
// first fit) of the largest plan.
class Planner {
 public:
  explicit Planner(BinLimit bin, Strategy strategy = Strategy::kBestFitDecreasing);
  // By the job's strategy: first fit decreasing where it says so, else best fit.
  explicit Planner(const PackSettings& settings);

  // How many bins plan() would use; stops early and returns limit + 1 when that is more than
  // `limit`.
  std::uint32_t count_bins(Sizes sizes, std::uint32_t limit);
  Plan plan(Sizes sizes);

 private:
  void count_sizes(Sizes sizes);
  void sort_largest_first(Sizes sizes);
  void forget_sizes();
  void forget_rooms();
  std::uint32_t fill(const std::uint32_t*& sample, const std::uint32_t* run_end, std::uint32_t size,
                     std::uint32_t bin, std::uint32_t room);
  std::uint32_t count_best_fit(Sizes sizes, std::uint32_t limit);
  Plan plan_up_to(Sizes sizes, std::uint32_t limit);
  void place_best_fit(const std::uint32_t* sample, const std::uint32_t* run_end,
                      std::uint32_t size);
  void place_first_fit(const std::uint32_t* sample, const std::uint32_t* run_end,
                       std::uint32_t size);
  void add_bins(std::uint32_t room, std::uint32_t bins);
  void push(std::uint32_t room, std::uint32_t bin);
  std::uint32_t pop(std::uint32_t room);

  BinLimit limit_;
  bool first_fit_;
  // Between calls the sets and all counts are empty.
  RoomSet sizes_;                     // capacity - size of each size that occurs
  std::vector<std::uint32_t> count_;  // of a size
  std::vector<std::uint32_t> end_;    // of a size's run in order_
  std::vector<std::uint32_t> order_;  // the samples, largest first
  RoomSet rooms_;                     // the free rooms above 0 that some bin has
  std::vector<std::uint32_t> bins_;   // counting: how many bins have a room; planning: the bin that
                                      // came to it last, plus 1
  std::vector<std::uint32_t> below_;  // of a bin: the one that came to its room before it, plus 1
  RoomTree tree_;                     // for first fit, in place of rooms_, bins_ and below_
  std::vector<std::uint32_t> samples_;  // of a bin, where max_samples limits them
  std::vector<std::uint32_t> bin_of_;
  std::uint32_t opened_ = 0;
};

}  // namespace packline

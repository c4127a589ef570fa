#include "lib/packing/planner.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"

namespace packline {

Bins bins_of(const Plan& plan) {
  std::vector<std::uint32_t> sizes(plan.bins);
  for (const std::uint32_t bin : plan.bin_of) ++sizes[bin];
  Bins bins(plan.bins);
  for (std::uint32_t b = 0; b < plan.bins; ++b) bins[b].reserve(sizes[b]);
  for (std::uint32_t i = 0; i < plan.bin_of.size(); ++i) bins[plan.bin_of[i]].push_back(i);
  return bins;
}

Planner::Planner(BinLimit bin, Strategy strategy)
    : limit_(bin),
      first_fit_(strategy == Strategy::kFirstFitDecreasing),
      sizes_(bin.capacity),
      rooms_(bin.capacity) {
  PL_CHECK(bin.capacity > 0 && bin.capacity < RoomSet::kNone);
  const std::size_t n = std::size_t{bin.capacity} + 1;
  count_.resize(n);
  end_.resize(n);
  bins_.resize(n);
}

Planner::Planner(const PackSettings& settings)
    : Planner({settings.capacity, settings.max_samples}, settings.strategy) {}

void Planner::count_sizes(Sizes sizes) {
  PL_CHECK(sizes.size() < UINT32_MAX);
  for (const std::uint32_t size : sizes) {
    PL_CHECK(size - 1 < limit_.capacity);
    if (count_[size]++ == 0) sizes_.insert(limit_.capacity - size);
  }
}

void Planner::sort_largest_first(Sizes sizes) {
  std::uint32_t at = 0;
  for (std::uint32_t k = sizes_.at_least(0); k != RoomSet::kNone; k = sizes_.at_least(k + 1)) {
    end_[limit_.capacity - k] = at;
    at += count_[limit_.capacity - k];
  }
  order_.resize(sizes.size());
  for (std::uint32_t i = 0; i < sizes.size(); ++i) order_[end_[sizes[i]]++] = i;
}

void Planner::forget_sizes() {
  for (std::uint32_t k = 0; (k = sizes_.at_least(k)) != RoomSet::kNone;) {
    sizes_.erase(k);
    count_[limit_.capacity - k] = 0;
  }
}

void Planner::forget_rooms() {
  for (std::uint32_t room = 0; (room = rooms_.at_least(room)) != RoomSet::kNone;) {
    rooms_.erase(room);
    bins_[room] = 0;
  }
}

void Planner::add_bins(std::uint32_t room, std::uint32_t bins) {
  if (room == 0 || bins == 0) return;
  if (bins_[room] == 0) rooms_.insert(room);
  bins_[room] += bins;
}

std::uint32_t Planner::count_bins(Sizes sizes, std::uint32_t limit) {
  if (!first_fit_ && limit_.max_samples == 0) return count_best_fit(sizes, limit);
  const std::uint32_t bins = plan_up_to(sizes, limit).bins;
  return bins > limit ? limit + 1 : bins;
}

std::uint32_t Planner::count_best_fit(Sizes sizes, std::uint32_t limit) {
  count_sizes(sizes);
  std::uint64_t opened = 0;
  for (std::uint32_t k = 0; (k = sizes_.at_least(k)) != RoomSet::kNone && opened <= limit;) {
    sizes_.erase(k);
    const std::uint32_t size = limit_.capacity - k;
    std::uint32_t left = std::exchange(count_[size], 0);
    while (left > 0) {
      const std::uint32_t room = rooms_.at_least(size);
      const bool open = room == RoomSet::kNone;
      const std::uint32_t from = open ? limit_.capacity : room;
      const std::uint32_t each = from / size;
      // Bins that take `each`, then perhaps one that takes the rest; all of them come from `from`.
      const std::uint32_t full = open ? left / each : std::min(bins_[room], left / each);
      left -= full * each;
      const bool rest = left > 0 && (open || full < bins_[room]);
      if (open) {
        opened += full + (rest ? 1 : 0);
      } else if ((bins_[room] -= full + (rest ? 1 : 0)) == 0) {
        rooms_.erase(room);
      }
      add_bins(from - each * size, full);
      if (rest) add_bins(from - std::exchange(left, 0) * size, 1);
    }
  }
  forget_sizes();
  forget_rooms();
  return opened > limit ? limit + 1 : static_cast<std::uint32_t>(opened);
}

void Planner::push(std::uint32_t room, std::uint32_t bin) {
  if (room == 0) return;
  below_[bin] = std::exchange(bins_[room], bin + 1);
  if (below_[bin] == 0) rooms_.insert(room);
}

std::uint32_t Planner::pop(std::uint32_t room) {
  const std::uint32_t bin = bins_[room] - 1;
  bins_[room] = below_[bin];
  if (bins_[room] == 0) rooms_.erase(room);
  return bin;
}

// Puts samples of one size into a bin until it takes no more; the room that it has for others then.
std::uint32_t Planner::fill(const std::uint32_t*& sample, const std::uint32_t* run_end,
                            std::uint32_t size, std::uint32_t bin, std::uint32_t room) {
  if (limit_.max_samples == 0) {
    do {
      bin_of_[*sample++] = bin;
      room -= size;
    } while (room >= size && sample != run_end);
    return room;
  }
  std::uint32_t& samples = samples_[bin];
  do {
    bin_of_[*sample++] = bin;
    room -= size;
    ++samples;
  } while (room >= size && sample != run_end && samples < limit_.max_samples);
  return samples < limit_.max_samples ? room : 0;
}

void Planner::place_best_fit(const std::uint32_t* sample, const std::uint32_t* run_end,
                             std::uint32_t size) {
  while (sample != run_end) {
    std::uint32_t room = rooms_.at_least(size);
    std::uint32_t bin;
    if (room != RoomSet::kNone) {
      bin = pop(room);
    } else {
      bin = opened_++;
      below_.push_back(0);
      if (limit_.max_samples > 0) samples_.push_back(0);
      room = limit_.capacity;
    }
    push(fill(sample, run_end, size, bin, room), bin);
  }
}

void Planner::place_first_fit(const std::uint32_t* sample, const std::uint32_t* run_end,
                              std::uint32_t size) {
  while (sample != run_end) {
    std::uint32_t bin = tree_.first(size);
    if (bin == RoomTree::kNone) {
      bin = tree_.add(limit_.capacity);
      opened_ = tree_.size();
      if (limit_.max_samples > 0) samples_.push_back(0);
    }
    tree_.set(bin, fill(sample, run_end, size, bin, tree_.room(bin)));
  }
}

// Beyond `limit` bins it stops, with a plan that is of no use but for its number of bins.
Plan Planner::plan_up_to(Sizes sizes, std::uint32_t limit) {
  count_sizes(sizes);
  sort_largest_first(sizes);
  bin_of_.resize(sizes.size());
  below_.clear();
  samples_.clear();
  tree_.clear();
  opened_ = 0;
  const std::uint32_t* sample = order_.data();
  const std::uint32_t* const end = sample + order_.size();
  while (sample != end && opened_ <= limit) {
    const std::uint32_t size = sizes[*sample];
    const std::uint32_t* const run_end = order_.data() + end_[size];
    if (first_fit_) {
      place_first_fit(sample, run_end, size);
    } else {
      place_best_fit(sample, run_end, size);
    }
    sample = run_end;
  }
  forget_sizes();
  forget_rooms();
  return {opened_, bin_of_};
}

Plan Planner::plan(Sizes sizes) { return plan_up_to(sizes, UINT32_MAX); }

}  // namespace packline

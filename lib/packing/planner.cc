#include "lib/packing/planner.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"

namespace packline {

Planner::Planner(std::uint32_t capacity)
    : capacity_(capacity), lengths_(capacity), rooms_(capacity) {
  PL_CHECK(capacity > 0 && capacity < RoomSet::kNone);
  const std::size_t n = std::size_t{capacity} + 1;
  count_.resize(n);
  end_.resize(n);
  bins_.resize(n);
}

void Planner::count_lengths(std::span<const std::uint32_t> lengths) {
  PL_CHECK(lengths.size() < UINT32_MAX);
  for (const std::uint32_t length : lengths) {
    PL_CHECK(length - 1 < capacity_);
    if (count_[length]++ == 0) lengths_.insert(capacity_ - length);
  }
}

void Planner::sort_longest_first(std::span<const std::uint32_t> lengths) {
  std::uint32_t at = 0;
  for (std::uint32_t k = lengths_.at_least(0); k != RoomSet::kNone; k = lengths_.at_least(k + 1)) {
    end_[capacity_ - k] = at;
    at += count_[capacity_ - k];
  }
  order_.resize(lengths.size());
  for (std::uint32_t i = 0; i < lengths.size(); ++i) order_[end_[lengths[i]]++] = i;
}

void Planner::forget_lengths() {
  for (std::uint32_t k = 0; (k = lengths_.at_least(k)) != RoomSet::kNone;) {
    lengths_.erase(k);
    count_[capacity_ - k] = 0;
  }
}

void Planner::add_bins(std::uint32_t room, std::uint32_t bins) {
  if (room == 0 || bins == 0) return;
  if (bins_[room] == 0) rooms_.insert(room);
  bins_[room] += bins;
}

std::uint32_t Planner::count_bins(std::span<const std::uint32_t> lengths, std::uint32_t limit) {
  count_lengths(lengths);
  std::uint64_t opened = 0;
  for (std::uint32_t k = 0; (k = lengths_.at_least(k)) != RoomSet::kNone && opened <= limit;) {
    lengths_.erase(k);
    const std::uint32_t length = capacity_ - k;
    std::uint32_t left = std::exchange(count_[length], 0);
    while (left > 0) {
      const std::uint32_t room = rooms_.at_least(length);
      const bool open = room == RoomSet::kNone;
      const std::uint32_t from = open ? capacity_ : room;
      const std::uint32_t each = from / length;
      // Bins that take `each`, then perhaps one that takes the rest; all of them come from `from`.
      const std::uint32_t full = open ? left / each : std::min(bins_[room], left / each);
      left -= full * each;
      const bool rest = left > 0 && (open || full < bins_[room]);
      if (open) {
        opened += full + (rest ? 1 : 0);
      } else if ((bins_[room] -= full + (rest ? 1 : 0)) == 0) {
        rooms_.erase(room);
      }
      add_bins(from - each * length, full);
      if (rest) add_bins(from - std::exchange(left, 0) * length, 1);
    }
  }
  forget_lengths();
  for (std::uint32_t room = 0; (room = rooms_.at_least(room)) != RoomSet::kNone;) {
    rooms_.erase(room);
    bins_[room] = 0;
  }
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

Plan Planner::plan(std::span<const std::uint32_t> lengths) {
  count_lengths(lengths);
  sort_longest_first(lengths);
  bin_of_.resize(lengths.size());
  below_.clear();
  const std::uint32_t* sample = order_.data();
  const std::uint32_t* const end = sample + order_.size();
  while (sample != end) {
    const std::uint32_t length = lengths[*sample];
    const std::uint32_t* const run_end = order_.data() + end_[length];
    while (sample != run_end) {
      std::uint32_t room = rooms_.at_least(length);
      std::uint32_t bin;
      if (room != RoomSet::kNone) {
        bin = pop(room);
      } else {
        bin = static_cast<std::uint32_t>(below_.size());
        below_.push_back(0);
        room = capacity_;
      }
      do {
        bin_of_[*sample++] = bin;
        room -= length;
      } while (room >= length && sample != run_end);
      push(room, bin);
    }
  }
  forget_lengths();
  for (std::uint32_t room = 0; (room = rooms_.at_least(room)) != RoomSet::kNone;) {
    rooms_.erase(room);
    bins_[room] = 0;
  }
  return {static_cast<std::uint32_t>(below_.size()), bin_of_};
}

Bins Planner::best_fit_decreasing(std::span<const std::uint32_t> lengths) {
  const Plan p = plan(lengths);
  std::vector<std::uint32_t> sizes(p.bins);
  for (const std::uint32_t bin : p.bin_of) ++sizes[bin];
  Bins bins(p.bins);
  for (std::uint32_t b = 0; b < p.bins; ++b) bins[b].reserve(sizes[b]);
  for (std::uint32_t i = 0; i < p.bin_of.size(); ++i) bins[p.bin_of[i]].push_back(i);
  return bins;
}

Bins Planner::next_fit(std::span<const std::uint32_t> lengths) const {
  Bins bins;
  std::uint32_t room = 0;
  for (std::uint32_t i = 0; i < lengths.size(); ++i) {
    PL_CHECK(lengths[i] - 1 < capacity_);
    if (bins.empty() || lengths[i] > room) {
      bins.emplace_back();
      room = capacity_;
    }
    bins.back().push_back(i);
    room -= lengths[i];
  }
  return bins;
}

}  // namespace packline

#include "lib/windows/epoch_count.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "lib/base/random.h"
#include "lib/delivery/digest.h"
#include "lib/delivery/place.h"
#include "lib/sample/parts.h"

namespace packline {

double EpochCount::fill_of(std::uint64_t rows) const {
  if (rows == 0) return 0;
  return static_cast<double>(tokens) / (static_cast<double>(rows) * capacity);
}

EpochCounter::EpochCounter(const Job& job, WindowMaker& maker)
    : job_(job), shape_(job.shape()), pack_(job_.pack), maker_(maker) {}

// Next fit over a window's samples, in about the order in which they were read: the window has them
// pack by pack. Without a shuffle that is the order of their records; of a shuffle another one is
// as good, as long as packs do not show in it.
void EpochCounter::add_next_fit(const ClosedWindow& window, EpochCount& count) {
  // (place, number in the window, length)
  std::vector<std::tuple<std::uint64_t, std::size_t, std::uint32_t>> in_order;
  in_order.reserve(window.samples.size());
  for (std::size_t i = 0; i < window.samples.size(); ++i) {
    const SampleOrigin o = origin_of(window.samples.ids[i]).value_or(SampleOrigin{});
    const std::uint64_t place =
        job_.shuffle.kind == ShuffleKind::kNone ? o.record : derive(o.source, {o.record});
    in_order.emplace_back(place, i, window.samples.lengths[i]);
  }
  if (!keeps_order(pack_.strategy)) std::ranges::sort(in_order);
  for (const auto& [place, number, length] : in_order) {
    if (count.next_fit_packs == 0 || open_row_ + length > pack_.capacity) {
      ++count.next_fit_packs;
      open_row_ = 0;
    }
    open_row_ += length;
  }
}

void EpochCounter::add_window(const ClosedWindow& window, const std::vector<Samples>& packs,
                              EpochCount& count) {
  const std::uint64_t number = window.key.index * shape_.lanes + window.key.lane;
  for (std::size_t k = 0; k < packs.size(); ++k) {
    const Samples& pack = packs[k];
    const std::uint64_t tokens = pack.tokens();
    Tally& rank = count.ranks[k % count.ranks.size()];
    ++rank.packs;
    rank.samples += pack.size();
    rank.tokens += tokens;
    const std::uint64_t digest = pack_digest(window.key.epoch, number, k, pack);
    rank.digest += digest;
    count.stream_digest += digest;
    count.samples += pack.size();
    count.tokens += tokens;
    ++count.fills[std::min(
        EpochCount::kFillBins - 1,
        static_cast<std::size_t>(tokens * EpochCount::kFillBins / pack_.capacity))];
  }
  ++count.windows;
  count.packs += packs.size();
  count.ledger += window.ledger;
  for (Tally& rank : count.ranks) rank.ledger += window.ledger;
  for (const std::uint32_t length : window.samples.lengths) {
    ++count.lengths[(std::uint64_t{length} * EpochCount::kLengthBins - 1) / pack_.capacity];
  }
  add_next_fit(window, count);
}

Result<EpochCount> EpochCounter::count(std::uint64_t epoch) {
  EpochCount count;
  count.epoch = epoch;
  count.capacity = pack_.capacity;
  count.ranks.resize(shape_.dp_size);
  open_row_ = 0;
  DetailCounter details(job_, EpochCount::kLengthBins, count.details);
  Cursor cursor;
  cursor.point.epoch = epoch;
  cursor.lanes.assign(shape_.lanes, Place{epoch, 0, ""});
  std::vector<Loss> losses;
  while (cursor.point.epoch == epoch) {
    const std::uint32_t lane = lane_of(shape_, cursor);
    losses.clear();
    const Result<ClosedWindow> window = maker_.make(lane, cursor.lanes[lane], losses);
    if (!window) return tl::unexpected<Error>(window.error());
    const std::vector<Samples> packs = runs_of(window->samples, window->packs);
    add_window(*window, packs, count);
    details.add(*window, packs, losses);
    for (const Loss& loss : losses) {
      if (on_loss) on_loss(loss);
    }
    if (on_window) on_window(count);
    cursor = after_window(shape_, std::move(cursor), window->after, window->last);
  }
  return count;
}

}  // namespace packline

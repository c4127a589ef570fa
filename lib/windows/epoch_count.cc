#include "lib/windows/epoch_count.h"

#include <algorithm>
#include <utility>

#include "lib/delivery/digest.h"
#include "lib/delivery/place.h"
#include "lib/sample/gatherer.h"

namespace packline {

double EpochCount::fill_of(std::uint64_t rows) const {
  if (rows == 0) return 0;
  return static_cast<double>(tokens) / (static_cast<double>(rows) * capacity);
}

EpochCounter::EpochCounter(const Job& job, WindowMaker& maker)
    : shape_(job.shape()), pack_(job.pack), maker_(maker), planner_(job.pack.capacity) {}

// Next fit over the samples as they come.
void EpochCounter::add_next_fit(const ClosedWindow& window, EpochCount& count) {
  for (const std::uint32_t length : window.samples.lengths) {
    if (count.next_fit_packs == 0 || open_row_ + length > pack_.capacity) {
      ++count.next_fit_packs;
      open_row_ = 0;
    }
    open_row_ += length;
  }
}

void EpochCounter::add_window(const ClosedWindow& window, EpochCount& count) {
  const std::uint64_t number = window.key.index * shape_.lanes + window.key.lane;
  const Bins bins =
      assign(pack_, planner_, window.key.epoch, number, window.samples.lengths, window.packs);
  const Gatherer gatherer(window.samples);
  for (std::size_t k = 0; k < bins.size(); ++k) {
    const Samples pack = gatherer.gather(bins[k]);
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
  count.packs += bins.size();
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
  Cursor cursor;
  cursor.point.epoch = epoch;
  cursor.lanes.assign(shape_.lanes, Place{epoch, 0, ""});
  std::vector<Loss> losses;
  while (cursor.point.epoch == epoch) {
    const std::uint32_t lane = lane_of(shape_, cursor);
    losses.clear();
    const Result<ClosedWindow> window = maker_.make(lane, cursor.lanes[lane], losses);
    if (!window) return tl::unexpected<Error>(window.error());
    add_window(*window, count);
    for (const Loss& loss : losses) {
      if (on_loss) on_loss(loss);
    }
    if (on_window) on_window(count);
    cursor = after_window(shape_, std::move(cursor), window->after, window->last);
  }
  return count;
}

}  // namespace packline

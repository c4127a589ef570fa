#include "lib/windows/pipe_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/corpus/position.h"

namespace packline {
namespace {

// The first place that a window needs which begins at the position.
std::uint64_t lowest_of(const Position& position) {
  return position.carried.empty() ? position.record
                                  : std::min(position.record, position.carried.front().record);
}

}  // namespace

PipeOrder::PipeOrder(PipeSource& pipe, ShuffleSettings shuffle, std::uint64_t seed,
                     std::uint64_t windows_kept)
    : pipe_(pipe),
      shuffle_(shuffle),
      seed_(seed),
      block_(shuffle.kind == ShuffleKind::kBuffer ? std::min(shuffle.size, kUnknown) : 1),
      windows_kept_(windows_kept),
      order_(order_of(kUnknown)) {}

std::shared_ptr<const EpochOrder> PipeOrder::order_of(std::uint64_t records) const {
  return std::make_shared<const EpochOrder>(std::vector<SourceShare>{{records, 0, 1}}, shuffle_,
                                            seed_, 0);
}

Result<PipeOrder::Settled> PipeOrder::settle(std::uint64_t place, bool wait) {
  if (!whole_) {
    const std::uint64_t begin = block_begin(place);
    const std::uint64_t wanted = std::min(begin + block_, kUnknown);
    const auto reach = pipe_.reach(wanted, begin, wait);
    if (!reach) return tl::unexpected(reach.error());
    if (reach->records >= wanted) return Settled::kYes;
    if (!reach->all) return Settled::kNotYet;
    order_ = order_of(reach->records);
    whole_ = true;
  }
  return place < order_->size() ? Settled::kYes : Settled::kEnd;
}

Status PipeOrder::check(const std::string& text) const {
  const auto position = Position::parse(text);
  if (!position) return {};  // LaneBuffer has the sentence for it
  const std::uint64_t begin = block_begin(lowest_of(*position));
  if (begin < pipe_.kept_from()) {
    return fail(ExitCode::kDataRefused,
                fmt::format("it begins at record {} of the pipe {}, of which those from {} on are "
                            "kept: a pipe goes back as far as deliver.window_credit windows; to go "
                            "on from older checkpoints read the records from a file",
                            begin, pipe_.path(), pipe_.kept_from()));
  }
  if (position->record > pipe_.records()) {
    return fail(ExitCode::kDataRefused,
                fmt::format("it begins at record {} of the pipe {}, of which this producer has "
                            "read {}: it was started after them, and a pipe cannot go back; begin "
                            "the stream anew, or read the records from a file",
                            position->record, pipe_.path(), pipe_.records()));
  }
  return {};
}

void PipeOrder::made(std::uint64_t index, const std::string& before) {
  const auto position = Position::parse(before);
  if (!position) return;
  lowest_.erase(lowest_.lower_bound(index), lowest_.end());
  lowest_[index] = block_begin(lowest_of(*position));
  while (lowest_.size() > windows_kept_) lowest_.erase(lowest_.begin());
  pipe_.forget(lowest_.begin()->second);
}

}  // namespace packline

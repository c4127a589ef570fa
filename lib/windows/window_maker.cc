#include "lib/windows/window_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

#include "lib/base/check.h"
#include "lib/corpus/order.h"
#include "lib/packing/closing.h"
#include "lib/packing/planner.h"
#include "lib/windows/lane_buffer.h"
#include "lib/windows/pipe_order.h"
#include "lib/windows/read_ahead.h"
#include "lib/windows/record_id.h"
#include "lib/windows/record_policy.h"

namespace packline {
namespace {

class LaneWindowMaker final : public WindowMaker {
 public:
  LaneWindowMaker(const Job& job, Sources sources, std::unique_ptr<Encoders> encoders)
      : seed_(job.seed),
        epochs_(job.epochs),
        shuffle_(job.shuffle),
        pack_(job.pack),
        policy_(job),
        selection_(job.selection()),
        sources_(std::move(sources)),
        encoders_(std::move(encoders)),
        lanes_(job.lanes),
        planner_(job.pack),
        reading_(sources_, encoders_->open_pool(), job.seed, job.lanes, selection_) {
    if (sources_.size() != 1) return;
    pipe_source_ = sources_[0]->as_pipe();
    if (pipe_source_ == nullptr) return;
    PL_CHECK(job.lanes == 1 && job.epochs == 1);
    // As many behind what the slowest rank wants as a producer may be ahead of it.
    pipe_.emplace(*pipe_source_, job.shuffle, job.seed,
                  2 * std::uint64_t{job.deliver.window_credit});
  }

  Result<std::optional<ClosedWindow>> try_make(std::uint32_t lane, const Place& place,
                                               std::vector<Loss>& losses) override;
  void wait() override { reading_.wait(); }
  void wake() override { reading_.wake(); }
  void cancel() override {
    cancelled_ = true;
    if (pipe_source_ != nullptr) pipe_source_->cancel();
    reading_.wake();
  }
  Status reaches(const Place& place) const override {
    return pipe_ ? pipe_->check(place.position) : Status{};
  }
  std::string waits() const override {
    return pipe_source_ != nullptr ? pipe_source_->waits() : "";
  }
  std::uint64_t records_taken(std::uint64_t limit) const override {
    return count_taken(sources_, selection_, limit);
  }
  std::uint64_t records() const override;
  std::uint64_t records_in(std::uint64_t epoch) const override {
    return pipe_ ? 0 : new_order(epoch).size();
  }

 private:
  struct Lane {
    LaneBuffer buffer;
    std::uint64_t made_at = 0;  // when its last window was made, counted in windows; 0 = never
  };

  EpochOrder new_order(std::uint64_t epoch) const;
  std::shared_ptr<const EpochOrder> order_of(std::uint64_t epoch);
  Status start_lane(std::uint32_t lane, const Place& place);
  Result<bool> read_enough(std::uint32_t lane);
  void read_ahead_of(std::uint32_t lane);
  std::uint64_t tokens_missing(const Lane& lane, bool closes_first) const;
  tl::unexpected<Error> give_up(std::uint32_t lane, Error error);

  const std::uint64_t seed_, epochs_;
  const ShuffleSettings shuffle_;
  const PackSettings pack_;
  const RecordPolicy policy_;
  const Selection selection_;
  const Sources sources_;
  const std::unique_ptr<Encoders> encoders_;
  std::atomic<bool> cancelled_ = false;
  std::map<std::uint64_t, std::weak_ptr<const EpochOrder>> orders_;  // those in use, by epoch
  std::vector<Lane> lanes_;
  std::uint64_t made_ = 0;  // windows
  Planner planner_;
  PipeSource* pipe_source_ = nullptr;  // where the job reads one
  std::optional<PipeOrder> pipe_;      // its order
  ReadAhead reading_;                  // last: its threads end before what they use
};

std::uint64_t LaneWindowMaker::records() const {
  std::uint64_t all = 0;
  for (const auto& source : sources_) all += source->records();
  return all;
}

EpochOrder LaneWindowMaker::new_order(std::uint64_t epoch) const {
  std::vector<SourceShare> shares;
  for (const auto& source : sources_) {
    shares.push_back({source->records(), source->settings().weight, source->settings().repeat});
  }
  return {shares, shuffle_, seed_, epoch};
}

std::shared_ptr<const EpochOrder> LaneWindowMaker::order_of(std::uint64_t epoch) {
  if (pipe_) return pipe_->order();
  if (auto known = orders_[epoch].lock()) return known;
  auto order = std::make_shared<const EpochOrder>(new_order(epoch));
  orders_[epoch] = order;
  std::erase_if(orders_, [](const auto& entry) { return entry.second.expired(); });
  return order;
}

Status LaneWindowMaker::start_lane(std::uint32_t lane, const Place& place) {
  const auto order = order_of(place.epoch);
  LaneBuffer& buffer = lanes_[lane].buffer;
  const auto lanes = static_cast<std::uint32_t>(lanes_.size());
  const bool cuts = pack_.strategy == Strategy::kWrapped;
  if (Status ok = reaches(place); !ok) return ok;
  if (Status ok = buffer.start(lane, place, order->lane_size(lane, lanes), cuts); !ok) return ok;
  if (pipe_) {
    reading_.restart(lane, *pipe_, place.epoch, buffer.carried_records(), buffer.head());
  } else {
    reading_.restart(lane, order, place.epoch, buffer.carried_records(), buffer.head());
  }
  return {};
}

tl::unexpected<Error> LaneWindowMaker::give_up(std::uint32_t lane, Error error) {
  lanes_[lane].buffer.stop();
  reading_.stop(lane);
  return tl::unexpected<Error>(std::move(error));
}

// How many tokens the lane lacks for its next window (`closes_first`: for the one after the window
// that it is about to close).
std::uint64_t LaneWindowMaker::tokens_missing(const Lane& lane, bool closes_first) const {
  const std::uint64_t leaves =
      closes_first ? std::uint64_t{pack_.packs_per_window} * pack_.capacity : 0;
  const std::uint64_t has = lane.buffer.tokens();
  const std::uint64_t wanted = tokens_wanted(pack_) + 1;
  const std::uint64_t stays = has > leaves ? has - leaves : 0;
  return wanted > stays ? wanted - stays : 0;
}

// Has the workers go on with what will be asked for next, as well as can be guessed: the lane that
// was asked for longest ago.
void LaneWindowMaker::read_ahead_of(std::uint32_t lane) {
  std::vector<std::uint32_t> others;
  for (std::uint32_t l = 0; l < lanes_.size(); ++l) {
    if (l != lane && lanes_[l].made_at > 0 && lanes_[l].buffer.started()) others.push_back(l);
  }
  std::sort(others.begin(), others.end(), [this](std::uint32_t a, std::uint32_t b) {
    return lanes_[a].made_at < lanes_[b].made_at;
  });
  for (const std::uint32_t l : others) reading_.fill(l, tokens_missing(lanes_[l], false), false);
  if (!lanes_[lane].buffer.wants_more(pack_)) {
    reading_.fill(lane, tokens_missing(lanes_[lane], true), false);
  }
}

// False: the lane's next record is still being encoded.
Result<bool> LaneWindowMaker::read_enough(std::uint32_t lane) {
  LaneBuffer& buffer = lanes_[lane].buffer;
  for (;;) {
    // A lane's last window is closed by other rules, so where a pipe ends must be known before.
    const Result<bool> goes_on = reading_.has_next(lane);
    if (!goes_on) return tl::unexpected<Error>(goes_on.error());
    if (!*goes_on) buffer.ends_here();
    if (!buffer.wants_more(pack_)) return true;
    if (cancelled_) return fail(ExitCode::kTerminated, "reading was cancelled");
    reading_.fill(lane, tokens_missing(lanes_[lane], false), true);
    read_ahead_of(lane);
    Result<std::optional<EncodedRecord>> next = reading_.try_next(lane);
    if (!next) return tl::unexpected<Error>(next.error());
    if (!*next) return false;
    EncodedRecord* record = &**next;
    if (record->passed_over) {
      if (Status ok = buffer.add(JudgedRecord{record->number, {}, {}, {}, {}}); !ok)
        return tl::unexpected<Error>(ok.error());
      continue;
    }
    RecordPlace at;
    at.number = record->number;
    if (worth_a_word(policy_, record->encoded)) {
      at.id = record_id(record->ref);
      at.where = sources_[record->ref.source]->where(record->ref.record);
    }
    Result<JudgedRecord> judged = judge(policy_, at, std::move(record->encoded));
    if (!judged) return tl::unexpected<Error>(judged.error());
    if (Status ok = buffer.add(std::move(*judged)); !ok) return tl::unexpected<Error>(ok.error());
  }
}

Result<std::optional<ClosedWindow>> LaneWindowMaker::try_make(std::uint32_t lane,
                                                              const Place& place,
                                                              std::vector<Loss>& losses) {
  if (cancelled_) return fail(ExitCode::kTerminated, "reading was cancelled");
  if (lane >= lanes_.size() || place.epoch >= epochs_) {
    return no_such_lane(lane, place, lanes_.size(), epochs_);
  }
  Lane& l = lanes_[lane];
  if (!l.buffer.stands_at(place)) {
    if (Status ok = start_lane(lane, place); !ok) return give_up(lane, ok.error());
  }
  const Result<bool> enough = read_enough(lane);
  if (!enough) return give_up(lane, enough.error());
  if (!*enough) return std::nullopt;
  l.made_at = ++made_;
  if (pipe_) pipe_->made(place.index, place.position);
  read_ahead_of(lane);
  Result<ClosedWindow> window =
      l.buffer.close(pack_, planner_, place.index * lanes_.size() + lane, losses);
  if (!window) return give_up(lane, window.error());
  for (Loss& loss : losses) {
    if (!loss.where.empty()) continue;
    const RecordRef ref = order_of(place.epoch)->at(lane + loss.lane_record * lanes_.size());
    loss.where = sources_[ref.source]->where(ref.record);
  }
  if (window->last && place.epoch + 1 < epochs_) {
    if (Status ok = start_lane(lane, {place.epoch + 1, 0, ""}); !ok) {
      return give_up(lane, ok.error());
    }
  }
  return std::optional<ClosedWindow>(std::move(*window));
}

}  // namespace

Result<ClosedWindow> WindowMaker::make(std::uint32_t lane, const Place& place,
                                       std::vector<Loss>& losses) {
  for (;;) {
    Result<std::optional<ClosedWindow>> window = try_make(lane, place, losses);
    if (!window) return tl::unexpected<Error>(window.error());
    if (*window) return std::move(**window);
    wait();
  }
}

tl::unexpected<Error> no_such_lane(std::uint32_t lane, const Place& place, std::uint64_t lanes,
                                   std::uint64_t epochs) {
  return fail(ExitCode::kWrongJob,
              fmt::format("lane {}, epoch {}: this job has {} lanes and {} epochs; go on from a "
                          "checkpoint that was written with this job",
                          lane, place.epoch, lanes, epochs));
}

std::uint64_t count_taken(const Sources& sources, const Selection& selection, std::uint64_t limit) {
  std::uint64_t taken = 0;
  for (std::uint32_t s = 0; s < sources.size(); ++s) {
    for (std::uint64_t r = 0; r < sources[s]->records() && taken < limit; ++r)
      taken += selection.takes(s, r);
  }
  return taken;
}

Loss remainder_loss(std::string id, std::uint64_t tokens) {
  Loss loss;
  loss.reason = name_of(SampleLoss::kRemainder);
  loss.id = std::move(id);
  loss.cause =
      "the epoch's last samples do not fill a pack for every rank (deliver.remainder: drop)";
  loss.tokens = tokens;
  return loss;
}

std::unique_ptr<WindowMaker> WindowMaker::over(const Job& job, Sources sources,
                                               std::unique_ptr<Encoders> encoders) {
  return std::make_unique<LaneWindowMaker>(job, std::move(sources), std::move(encoders));
}

std::unique_ptr<WindowMaker> WindowMaker::over(const Job& job, Sources sources,
                                               std::unique_ptr<Encoder> encoder) {
  return over(job, std::move(sources), encoders_here(std::move(encoder), job.encode.threads));
}

}  // namespace packline

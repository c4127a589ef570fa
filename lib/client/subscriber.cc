#include "lib/client/subscriber.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "lib/base/check.h"

namespace packline {
namespace {

constexpr std::size_t kEpochsKept = 64;
constexpr std::uint64_t kLongestMs =
    std::uint64_t{7} * 24 * 3600 * 1000;  // the most that a job file takes

// A number off the wire: as nanoseconds a large one would overflow.
Duration told(std::uint64_t ms) { return std::chrono::milliseconds(std::min(ms, kLongestMs)); }

}  // namespace

std::string_view name_of(SubscriberState s) {
  switch (s) {
    case SubscriberState::kAsking:
      return "asking";
    case SubscriberState::kReceiving:
      return "receiving";
    case SubscriberState::kClosing:
      return "closing";
    case SubscriberState::kDone:
      return "done";
  }
  PL_CHECK(false);
}

Subscriber::Subscriber(SubscriberSettings settings, Instant now)
    : settings_(std::move(settings)),
      cursor_(settings_.begin),
      subscribed_(now - settings_.times.report),
      heard_(now) {
  PL_CHECK(settings_.room > 0);
}

void Subscriber::on_message(Message m, Instant now) {
  if (auto* w = std::get_if<Welcome>(&m))
    on_welcome(*w, now);
  else if (auto* p = std::get_if<Pack>(&m))
    on_pack(std::move(*p), now);
  else if (auto* e = std::get_if<End>(&m))
    on_end(std::move(*e), now);
  else if (auto* x = std::get_if<ErrorMessage>(&m))
    on_error(*x, now);
  else if (auto* v = std::get_if<Waiting>(&m))
    on_waiting(*v, now);
}

void Subscriber::on_welcome(const Welcome& w, Instant now) {
  if (state_ != SubscriberState::kAsking || w.session != settings_.session) return;
  heard_ = now;
  if (settings_.job != 0 && settings_.job != w.envelope.job)
    return end(
        ExitCode::kWrongJob,
        fmt::format("the cursor is of job {:016x}, the sink at {} serves job {:016x}: resume with "
                    "the job file and data that the checkpoint was made with",
                    settings_.job, settings_.endpoint, w.envelope.job));
  if (w.envelope.dp_size != settings_.dp_size)
    return end(ExitCode::kWrongJob,
               fmt::format("the sink at {} serves dp_size {}, this trainer has dp_size {}: set "
                           "deliver.dp_size",
                           settings_.endpoint, w.envelope.dp_size, settings_.dp_size));
  welcome_ = w;
  if (w.warn_after_ms > 0) settings_.times.warn_after = told(w.warn_after_ms);
  if (w.fail_after_ms > 0) settings_.times.fail_after = told(w.fail_after_ms);
  if (!cursor_) cursor_ = w.start;
  want_ = cursor_;
  progress_.from = progress_.to = cursor_->point;
  state_ = SubscriberState::kReceiving;
  subscribe(now);
}

// C2: the chain from this rank's own cursor is all that decides what it gets.
bool Subscriber::expected(const StreamPoint& from, const TrainerSession& s) const {
  return want_ && s == settings_.session && state_ != SubscriberState::kDone &&
         from == want_->point;
}

void Subscriber::on_pack(Pack p, Instant now) {
  if (state_ == SubscriberState::kDone) return;
  heard_ = now;
  if (!expected(p.from, p.session) || packs_buffered_ >= settings_.room) return;
  want_->point = p.after;
  if (p.lanes) want_->lanes = *p.lanes;
  buffer_.emplace_back(std::move(p));
  ++packs_buffered_;
  hungry_since_.reset();
  told_.reset();
  subscribe(now);
}

void Subscriber::on_end(End e, Instant now) {
  if (state_ == SubscriberState::kDone || e.session != settings_.session) return;
  heard_ = now;
  if (e.released) {
    if (state_ == SubscriberState::kClosing)
      end(ExitCode::kDone, "the sink has released this rank");
    return;
  }
  if (!expected(e.from, e.session) || e.cursor.point == want_->point) return;
  want_ = e.cursor;
  buffer_.emplace_back(std::move(e));
  subscribe(now);
}

void Subscriber::on_error(const ErrorMessage& e, Instant now) {
  if (state_ == SubscriberState::kDone || e.session != settings_.session) return;
  heard_ = now;
  const bool job = e.reason == ErrorReason::kOtherJob || e.reason == ErrorReason::kOtherDpSize ||
                   e.reason == ErrorReason::kNotDivisible || e.reason == ErrorReason::kWrongRank;
  // Who said done has used every pack already, whoever is there now.
  const bool late = state_ == SubscriberState::kClosing &&
                    (e.reason == ErrorReason::kLineFailed || e.reason == ErrorReason::kFenced);
  const ExitCode code = e.reason == ErrorReason::kDataRefused ? ExitCode::kDataRefused
                        : job                                 ? ExitCode::kWrongJob
                                                              : ExitCode::kUnreachable;
  end(late ? ExitCode::kDone : code, e.text);
}

void Subscriber::on_waiting(const Waiting& w, Instant now) {
  if (state_ == SubscriberState::kDone || w.session != settings_.session) return;
  heard_ = now;
  told_ = {w.text, now};
}

bool Subscriber::ready() const { return packs_buffered_ > 0; }

bool Subscriber::ended() const {
  return buffer_.empty() && welcome_ && cursor_ && cursor_->point.epoch >= welcome_->epochs;
}

Tally& Subscriber::epoch(std::uint64_t e) {
  auto& all = progress_.epochs;
  const auto it = std::ranges::find(all, e, &EpochTally::epoch);
  if (it != all.end()) return it->tally;
  all.push_back({e, {}});
  if (all.size() > kEpochsKept) all.erase(all.begin());
  return all.back().tally;
}

void Subscriber::pass(const std::vector<EpochTally>& passed) {
  for (const EpochTally& e : passed) {
    epoch(e.epoch) += e.tally;
    progress_.total += e.tally;
  }
}

// An End is handed out together with what follows it, or as the job's end, so that the cursors of
// all ranks are equal after each step whenever the End came.
std::optional<Pack> Subscriber::take(Instant now) {
  if (!ready() && !(buffer_.size() == 1 && want_->point.epoch >= welcome_->epochs)) {
    if (!ended() && state_ != SubscriberState::kDone && !hungry_since_) hungry_since_ = now;
    return std::nullopt;
  }
  std::optional<Pack> taken;
  while (!buffer_.empty() && !taken) {
    auto next = std::move(buffer_.front());
    buffer_.pop_front();
    if (auto* e = std::get_if<End>(&next)) {
      pass(e->passed);
      cursor_ = std::move(e->cursor);
      continue;
    }
    taken = std::get<Pack>(std::move(next));
    --packs_buffered_;
    const Tally one{1, taken->body.samples, taken->body.tokens, taken->body.digest, {}};
    epoch(taken->at.epoch) += one;
    progress_.total += one;
    pass(taken->passed);
    cursor_->point = taken->after;
    if (taken->lanes) cursor_->lanes = *taken->lanes;
  }
  progress_.to = cursor_->point;
  hungry_since_.reset();
  subscribe(now);  // room is news, too
  return taken;
}

void Subscriber::finish(Instant now) {
  if (state_ == SubscriberState::kDone || state_ == SubscriberState::kClosing) return;
  finish_at_ = now;
  if (state_ == SubscriberState::kAsking)
    return end(ExitCode::kDone, "closed before the sink had answered");
  state_ = SubscriberState::kClosing;
  hungry_since_.reset();
  subscribe(now);
}

// C1.
void Subscriber::subscribe(Instant now) {
  subscribed_ = now;
  Subscribe s;
  s.dp_rank = settings_.dp_rank;
  s.peer = settings_.peer;
  s.session = settings_.session;
  s.seq = ++seq_;
  if (!want_) {
    s.envelope = {settings_.job, settings_.dp_size};
    outputs_.push_back(std::move(s));
    return;
  }
  s.envelope = welcome_->envelope;
  s.want = want_;
  s.room = settings_.room - packs_buffered_;
  s.done = state_ == SubscriberState::kClosing;
  s.progress = progress_;
  // While it goes on, the last two epochs say all that changes.
  auto& epochs = s.progress.epochs;
  if (!s.done && epochs.size() > 2) epochs.erase(epochs.begin(), epochs.end() - 2);
  outputs_.push_back(std::move(s));
}

void Subscriber::tick(Instant now) {
  if (state_ == SubscriberState::kDone) return;
  const DeliveryTimes& t = settings_.times;
  if (state_ == SubscriberState::kClosing && now - finish_at_ > t.close)
    return end(ExitCode::kDone,
               fmt::format("the sink did not release this rank within {}; every pack "
                           "was received and used",
                           in_words(t.close)));
  const bool asking = state_ == SubscriberState::kAsking && now - heard_ > t.fail_after;
  const bool hungry = hungry_since_ && now - *hungry_since_ > t.fail_after;
  if (asking || hungry) return end(ExitCode::kUnreachable, waiting_sentence(now));
  if (now - subscribed_ >= t.report) subscribe(now);
}

std::vector<Subscribe> Subscriber::take_outputs() { return std::exchange(outputs_, {}); }

void Subscriber::end(ExitCode code, std::string text) {
  state_ = SubscriberState::kDone;
  exit_ = Exit{code, std::move(text)};
}

std::string Subscriber::waiting_sentence(Instant now) const {
  const Instant since = state_ == SubscriberState::kAsking ? heard_ : hungry_since_.value_or(now);
  std::string text = fmt::format("rank {} has waited {} for step {}: ", settings_.dp_rank,
                                 in_words(now - since), progress_.total.packs);
  // Without room the sink had no reason to speak: its silence counts from the asking on.
  if (now - std::max(heard_, since) > settings_.times.silent || state_ == SubscriberState::kAsking)
    return text + fmt::format(
                      "sink {} at {} has not answered for {}: is it running, and can it be "
                      "reached?",
                      settings_.dp_rank, settings_.endpoint, in_words(now - heard_));
  if (!told_)
    return text + fmt::format("sink {} has not said yet what it misses", settings_.dp_rank);
  return text + told_->first;
}

std::optional<Wait> Subscriber::wait(Instant now) const {
  if (state_ == SubscriberState::kDone) return std::nullopt;
  if (state_ == SubscriberState::kClosing)
    return Wait{
        fmt::format(
            "rank {} is done and has waited {} for sink {} to let it go, which it does when "
            "all ranks are done",
            settings_.dp_rank, in_words(now - finish_at_), settings_.dp_rank),
        fmt::format("sink {}", settings_.dp_rank), elapsed_ms(finish_at_, now)};
  if (state_ == SubscriberState::kReceiving && !hungry_since_) return std::nullopt;
  const Instant since = state_ == SubscriberState::kAsking ? heard_ : *hungry_since_;
  return Wait{waiting_sentence(now), fmt::format("sink {}", settings_.dp_rank),
              elapsed_ms(since, now)};
}

}  // namespace packline

// Rules S6 and S7: what a sink reports, how it ends, and what its status document says.

#include <fmt/format.h>

#include <algorithm>

#include "sink/sink.h"

namespace packline {
namespace {

// Of an epoch that has no pack.
std::string what_became_of(const Ledger& l) {
  if (l.records_read == 0)
    return "it holds no record: name sources that do (or set another part aside for split: eval)";
  std::string reasons;
  const auto add = [&](std::string_view name, std::uint64_t count) {
    if (count > 0) reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", name, count);
  };
  for (std::size_t i = 0; i < kRecordLosses; ++i)
    add(name_of(static_cast<RecordLoss>(i)), l.records_lost[i]);
  for (std::size_t i = 0; i < kSampleLosses; ++i)
    add(name_of(static_cast<SampleLoss>(i)), l.samples_lost[i]);
  return fmt::format(
      "all of its {} records were lost ({}); the quarantine file of each lane says "
      "where and why",
      l.records_read, reasons.empty() ? "no samples" : reasons);
}

}  // namespace

bool Sink::all_done() const {
  return std::ranges::all_of(peers_, [](const Peer& p) { return p.session && p.done; });
}

// S6: the whole state, to each producer the part that concerns its lanes.
void Sink::report(Instant now, bool bye) {
  reported_ = now;
  Report r;
  r.envelope = {settings_.job.fingerprint, settings_.job.dp_size};
  r.dp_rank = settings_.dp_rank;
  r.session = settings_.session;
  r.endpoint = settings_.endpoint;
  for (const Peer& p : peers_) {
    if (!p.session) continue;
    const Heard heard{*p.session, p.seq};
    if (!r.heard || *r.heard < heard) r.heard = heard;
    r.live |= now - p.heard < settings_.times.silent;
  }
  r.done = all_done();
  r.bye = bye;
  const std::vector<WindowKey> keys = shelf_.keys();
  for (std::uint32_t i = 0; i < settings_.producers; ++i) {
    Report mine = r;
    mine.seq = ++seq_;
    for (std::uint32_t lane = i; mark_ && lane < settings_.job.lanes; lane += settings_.producers)
      mine.lanes.emplace_back(lane, mark_->lanes[lane]);
    std::ranges::copy_if(keys, std::back_inserter(mine.held),
                         [&](const WindowKey& k) { return k.lane % settings_.producers == i; });
    outputs_.push_back(ToProducer{i, std::move(mine)});
  }
}

void Sink::check_end(Instant now) {
  const DeliveryTimes& t = settings_.times;
  if (state_ == SinkState::kReleased) {
    if (now - released_at_ <= t.linger / 4) return;
    report(now, true);
    end(ExitCode::kDone, "every trainer rank is done and every producer has finished", now);
    return;
  }
  const bool silent = std::ranges::all_of(
      peers_, [&](const Peer& p) { return p.session && now - p.heard > t.drain; });
  if (silent && all_done()) {
    report(now, true);
    end(ExitCode::kDone,
        fmt::format(
            "the trainer said done and left; not every producer has said finished within {}",
            in_words(t.drain)),
        now);
    return;
  }
  const bool at_end =
      std::ranges::all_of(peers_, [](const Peer& p) { return p.done || p.end_sent; });
  if (silent && at_end && now - line_.heard_any() > t.drain) {
    report(now, true);
    end(ExitCode::kDone,
        fmt::format(
            "the stream was sent to its end; neither the trainer nor a producer was heard for {}",
            in_words(t.drain)),
        now);
    return;
  }
  check_failed(now);
}

// L7: "past a limit it says so unasked, and past a second one it fails with that sentence."
void Sink::check_failed(Instant now) {
  const Duration limit = settings_.times.fail_after;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const Peer& p = peers_[i];
    if (p.done || now - p.contact <= limit || !settings_.absent_trainer_fails) continue;
    const std::string who =
        peers_.size() == 1
            ? std::string("no trainer rank")
            : fmt::format("trainer rank {} of {} that share this sink", i, peers_.size());
    end(ExitCode::kUnreachable,
        peers_.size() == 1
            ? fmt::format(
                  "sink {}: {} has subscribed for {}: start the trainer, or check that it can "
                  "reach this sink's address",
                  settings_.dp_rank, who, in_words(now - p.contact))
            : fmt::format(
                  "sink {}: {} has not subscribed for {}: is deliver.ranks_per_dp_rank right?",
                  settings_.dp_rank, who, in_words(now - p.contact)),
        now);
    return;
  }
  if (all_done()) return;
  const auto gone = line_.silent_producer(limit, now);
  if (!gone) return;
  end(ExitCode::kUnreachable,
      fmt::format(
          "sink {}: producer {} has not been heard for {}: start it, or check that this sink can "
          "reach its address",
          settings_.dp_rank, gone->first, in_words(gone->second)),
      now);
}

// S4: of a job without end, an epoch that had no pack from its first window to its last. The next
// would be alike, and so on for ever: nobody would ever get a pack, nor learn why.
bool Sink::end_if_bare(Instant now) {
  if (settings_.job.epochs != kContinuous || !mark_) return false;
  const StreamPoint from = lowest_want_->point;
  if (from.window != 0 || from.pack != 0 || mark_->point.epoch == from.epoch) return false;
  Ledger ledger;
  for (Cursor c = *lowest_want_; c.point.epoch == from.epoch;) {
    const Slice* s = slice_at(c);
    if (s == nullptr) return false;  // it is kept until every rank has come past it
    ledger += s->ledger;
    c = after_window(settings_.job, c, s->after, s->last);
  }
  end(ExitCode::kDataRefused,
      fmt::format("sink {}: epoch {} has no pack at all, and epochs is continuous: {}",
                  settings_.dp_rank, from.epoch, what_became_of(ledger)),
      now);
  return true;
}

void Sink::end(ExitCode code, std::string text, Instant now) {
  state_ = SinkState::kDone;
  if (code != ExitCode::kDone) {
    for (const Peer& p : peers_) {
      if (!p.session || now - p.heard > settings_.times.silent) continue;
      send_error(
          p.address, *p.session,
          code == ExitCode::kDataRefused ? ErrorReason::kDataRefused : ErrorReason::kLineFailed,
          text);
    }
  }
  exit_ = Exit{code, std::move(text)};
}

std::vector<Wait> Sink::waits(Instant now) const {
  std::vector<Wait> waits;
  if (state_ == SinkState::kDone) return waits;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const Peer& p = peers_[i];
    const std::string who = peers_.size() == 1
                                ? std::string("its trainer rank")
                                : fmt::format("trainer rank {} of {}", i, peers_.size());
    const bool may_rest = !settings_.absent_trainer_fails;
    if (!p.session)
      waits.push_back({"the first Subscribe", who, elapsed_ms(started_, now), may_rest});
    else if (now - p.heard > settings_.times.silent)
      waits.push_back({"a Subscribe", who, elapsed_ms(p.heard, now), may_rest});
    else if (p.starving_since)
      waits.push_back({missed(p.want, now), "the producers", elapsed_ms(*p.starving_since, now)});
    else if (p.done && state_ != SinkState::kReleased)
      waits.push_back(
          {"every producer to say finished", "the producers", elapsed_ms(p.heard, now)});
    else if (p.room == 0)
      waits.push_back(
          {"the trainer to take packs: it has no room", who, elapsed_ms(p.heard, now), true});
  }
  if (const auto gone = line_.silent_producer(settings_.times.silent, now))
    waits.push_back({"a notice", fmt::format("producer {}", gone->first),
                     static_cast<std::uint64_t>(to_ms(gone->second))});
  return waits;
}

std::vector<PeerStatus> Sink::peers(Instant now) const {
  std::vector<PeerStatus> all;
  for (const Peer& p : peers_) {
    PeerStatus s;
    s.present = p.session.has_value();
    s.silent_ms = elapsed_ms(s.present ? p.heard : p.contact, now);
    if (s.present) s.session = *p.session;
    s.want = p.want.point;
    s.room = p.room;
    s.done = p.done;
    s.progress = p.progress;
    all.push_back(std::move(s));
  }
  return all;
}

}  // namespace packline

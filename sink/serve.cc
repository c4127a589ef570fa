// Rule S5: what a sink sends to its trainer ranks, and when again.

#include <fmt/format.h>

#include <algorithm>

#include "sink/sink.h"

namespace packline {
namespace {

constexpr Duration kWaitingEvery = std::chrono::seconds(1);

void add_ledger(std::vector<EpochTally>& passed, const Slice& s) {
  if (passed.empty() || passed.back().epoch != s.key.epoch) {
    passed.emplace_back();
    passed.back().epoch = s.key.epoch;
  }
  passed.back().tally.ledger += s.ledger;
}

}  // namespace

// A walk from what the rank wants: `at` is where it stands, `from` the point after the pack or End
// before, `passed` what was finished in between, in which lanes moved on or not. Positions can be
// long, so a pack says the lanes only where they moved.
struct Sink::Walk {
  Cursor at;
  StreamPoint from;
  std::uint32_t room = 0;
  std::vector<EpochTally> passed;
  bool moved = false;

  // The pack or End before `at` is on its way.
  void told() {
    from = at.point;
    passed.clear();
    moved = false;
  }
};

// True when what follows `from` was not sent within the pack lease; it counts as sent now.
bool Sink::due(Peer& p, const StreamPoint& from, bool is_end, Instant now) {
  const auto [it, fresh] = p.sent.try_emplace({from, is_end}, now);
  if (fresh) return true;
  if (now - it->second < settings_.times.pack_lease) return false;
  it->second = now;
  return true;
}

void Sink::serve(Peer& p, Instant now) {
  if (!p.session) return;
  // Without progress for a pack lease: the client drops what follows a lost pack, so all from what
  // it wants on goes out again, not the first alone.
  for (const bool is_end : {false, true}) {
    const auto it = p.sent.find({p.want.point, is_end});
    if (it == p.sent.end() || now - it->second < settings_.times.pack_lease) continue;
    counters_.packs_sent_again += static_cast<std::uint64_t>(
        std::ranges::count_if(p.sent, [](const auto& s) { return !s.first.second; }));
    p.sent.clear();
    break;
  }
  Walk w{p.want, p.want.point, p.room, {}, false};
  const std::uint64_t epochs = settings_.job.epochs;
  while (w.room > 0 && w.at.point.epoch < epochs) {
    const Slice* s = slice_at(w.at);
    if (s == nullptr) {
      if (w.room < p.room)
        p.starving_since.reset();
      else if (!p.starving_since)
        p.starving_since = now;
      return;
    }
    serve_window(p, w, *s, now);
  }
  p.starving_since.reset();
  if (w.at.point.epoch < epochs) return;
  p.end_sent = true;
  if (w.at.point != w.from && due(p, w.from, true, now))
    send_end(p, w.from, w.at, std::move(w.passed), false);
}

// One step of the walk: over a window without packs, or one pack.
void Sink::serve_window(Peer& p, Walk& w, const Slice& s, Instant now) {
  const JobShape& job = settings_.job;
  if (s.packs == 0) {
    add_ledger(w.passed, s);
    w.at = after_window(job, std::move(w.at), s.after, s.last);
    w.moved = true;
    return;
  }
  if (w.at.point.epoch > w.from.epoch) {
    // Windows without packs ended the epoch: no pack says so.
    if (due(p, w.from, true, now)) send_end(p, w.from, w.at, w.passed, false);
    w.told();
  }
  const std::uint64_t k = w.at.point.pack;
  if (k >= s.packs) {
    w.room = 0;
    if (due(p, w.from, false, now)) refuse_pack(p, w.at.point, s.packs);
    return;
  }
  const StreamPoint at{w.at.point.epoch, w.at.point.window, k + settings_.dp_rank};
  if (k + job.dp_size < s.packs) {
    w.at.point.pack += job.dp_size;
  } else {
    add_ledger(w.passed, s);
    w.at = after_window(job, std::move(w.at), s.after, s.last);
    w.moved = true;
  }
  if (due(p, w.from, false, now)) {
    ++counters_.packs_sent;
    Pack pack;
    pack.envelope = {job.fingerprint, job.dp_size};
    pack.session = *p.session;
    pack.dp_rank = settings_.dp_rank;
    pack.from = w.from;
    pack.at = at;
    pack.after = w.at.point;
    if (w.moved) pack.lanes = w.at.lanes;
    pack.passed = std::move(w.passed);
    pack.body = s.parts[k / job.dp_size];
    outputs_.push_back(ToTrainer{p.address, std::move(pack)});
  }
  w.told();
  --w.room;
}

// How many packs a window has is not known before it is here, so this is not seen when it is asked.
void Sink::refuse_pack(const Peer& p, const StreamPoint& wanted, std::uint32_t packs) {
  ++counters_.refused_bad;
  send_error(
      p.address, *p.session, ErrorReason::kOtherJob,
      fmt::format("sink {}: the cursor stands at pack {} of window {} of epoch {}, which has {} "
                  "packs: the checkpoint was cut or changed by hand, go on from another",
                  settings_.dp_rank, wanted.pack, wanted.window, wanted.epoch, packs));
}

void Sink::send_end(Peer& p, const StreamPoint& from, const Cursor& cursor,
                    std::vector<EpochTally> passed, bool released) {
  End e;
  e.envelope = {settings_.job.fingerprint, settings_.job.dp_size};
  e.session = *p.session;
  e.from = from;
  e.cursor = cursor;
  e.passed = std::move(passed);
  e.released = released;
  outputs_.push_back(ToTrainer{p.address, std::move(e)});
}

// S7: done is answered only once every producer knows that all ranks are done; until then the
// trainer stays, so that a sink that dies now can still be told.
void Sink::release(Peer& p) {
  if (state_ == SinkState::kReleased && p.session && p.done)
    send_end(p, p.want.point, p.want, {}, true);
}

std::string Sink::missing(const Cursor& c, Instant now) const {
  const Missed m = first_missed(c, now);
  return fmt::format("sink {} misses {}; {}", settings_.dp_rank, m.window, m.why);
}

std::string Sink::missed(const Cursor& c, Instant now) const {
  const Missed m = first_missed(c, now);
  return fmt::format("{} ({})", m.window, m.why);
}

Sink::Missed Sink::first_missed(const Cursor& c, Instant now) const {
  const JobShape& job = settings_.job;
  Cursor at = c;
  const Slice* s = slice_at(at);
  while (s != nullptr && s->packs == 0) {
    at = after_window(job, std::move(at), s->after, s->last);
    s = at.point.epoch < job.epochs ? slice_at(at) : nullptr;
  }
  const WindowKey key = window_at(job, at);
  const std::string epoch = job.epochs > 1 ? fmt::format(" of epoch {}", at.point.epoch) : "";
  return {fmt::format("window {}{} (lane {})", at.point.window, epoch, key.lane),
          line_.about(key, job.lanes, now)};
}

// Law L7: "No wait without a name."
void Sink::tell_waiting(Peer& p, Instant now) {
  if (!p.starving_since || now - *p.starving_since < kWaitingEvery ||
      now - p.told_waiting < kWaitingEvery)
    return;
  p.told_waiting = now;
  Waiting w;
  w.envelope = {settings_.job.fingerprint, settings_.job.dp_size};
  w.session = *p.session;
  w.since_ms = elapsed_ms(*p.starving_since, now);
  w.text = missing(p.want, now);
  outputs_.push_back(ToTrainer{p.address, std::move(w)});
}

}  // namespace packline

#include "sink/sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "lib/base/check.h"
#include "lib/hash/xxh3.h"

namespace packline {

std::string_view name_of(SinkState s) {
  switch (s) {
    case SinkState::kWaiting:
      return "waiting";
    case SinkState::kServing:
      return "serving";
    case SinkState::kReleased:
      return "released";
    case SinkState::kDone:
      return "done";
  }
  PL_CHECK(false);
}

Sink::Sink(SinkSettings settings, Instant now)
    : settings_(std::move(settings)),
      peers_(settings_.ranks_per_dp_rank),
      shelf_(settings_.window_credit),
      line_(settings_.producers, settings_.dp_rank, settings_.window_credit, now),
      started_(now),
      reported_(now - settings_.times.report) {
  for (Peer& p : peers_) p.contact = now;
}

void Sink::send_error(const std::string& address, const TrainerSession& to, ErrorReason why,
                      std::string text) {
  ErrorMessage e;
  e.envelope = {settings_.job.fingerprint, settings_.job.dp_size};
  e.session = to;
  e.reason = why;
  e.text = std::move(text);
  outputs_.push_back(ToTrainer{address, std::move(e)});
}

// Whether the message is for this sink at all; if not, the sender is told why.
bool Sink::admits(const std::string& address, const Subscribe& s) {
  const JobShape& job = settings_.job;
  const auto no = [&](std::uint64_t& counter, ErrorReason why, std::string text) {
    ++counter;
    send_error(address, s.session, why, std::move(text));
    return false;
  };
  const std::string me = fmt::format("sink {}", settings_.dp_rank);
  const bool asks = !s.want;
  if (s.envelope.job != job.fingerprint && !(asks && s.envelope.job == 0))
    return no(
        counters_.refused_other_job, ErrorReason::kOtherJob,
        fmt::format("{} serves job {:016x}, this trainer rank wants job {:016x}: the data or the "
                    "job file differ",
                    me, job.fingerprint, s.envelope.job));
  if (s.envelope.dp_size != job.dp_size && !(asks && s.envelope.dp_size == 0))
    return no(
        counters_.refused_other_dp_size, ErrorReason::kOtherDpSize,
        fmt::format("{} serves dp_size {}, this trainer has dp_size {}: set deliver.dp_size and "
                    "start the line again",
                    me, job.dp_size, s.envelope.dp_size));
  if (s.dp_rank != settings_.dp_rank)
    return no(counters_.refused_bad, ErrorReason::kWrongRank,
              fmt::format("{} was asked for dp_rank {}: the trainer connected to the wrong address",
                          me, s.dp_rank));
  if (s.peer >= peers_.size())
    return no(counters_.refused_bad, ErrorReason::kWrongRank,
              fmt::format("{} serves {} trainer rank(s), this one is number {} (from 0): set "
                          "deliver.ranks_per_dp_rank",
                          me, peers_.size(), s.peer));
  if (asks) return true;
  if (!is_cursor_of(job, *s.want))
    return no(
        counters_.refused_bad, ErrorReason::kOtherJob,
        fmt::format("{}: the cursor (epoch {}, window {}, pack {}, {} lanes) is none of this job, "
                    "which has {} lanes",
                    me, s.want->point.epoch, s.want->point.window, s.want->point.pack,
                    s.want->lanes.size(), job.lanes));
  if (s.want->point.pack % job.dp_size != 0)
    return no(
        counters_.refused_bad, ErrorReason::kNotDivisible,
        fmt::format("{}: the cursor stands at pack {} of its window, which dp_size {} does not "
                    "divide: resume with a dp_size that does, or from another checkpoint",
                    me, s.want->point.pack, job.dp_size));
  return true;
}

// S1: whose word counts. A woken old trainer must not pull the mark to and fro; a new one with a
// slow clock must not be shut out for ever.
bool Sink::takes_over(const std::string& address, Peer& p, const Subscribe& s, Instant now) {
  if (p.session == s.session) {
    if (s.seq > p.seq) return true;
    ++counters_.subscribes_stale;
    return false;
  }
  const bool lower = p.session && s.session < *p.session;
  const bool present = now - p.heard <= settings_.times.silent;
  if (p.was_replaced(s.session) || (lower && present)) {
    ++counters_.sessions_fenced;
    send_error(
        address, s.session, ErrorReason::kFenced,
        fmt::format("sink {}: a newer start of this trainer rank has taken over; this one gets no "
                    "more packs",
                    settings_.dp_rank));
    return false;
  }
  p.become(s.session);
  return true;
}

void Sink::answer_welcome(const std::string& address, const Subscribe& s) {
  Welcome w = settings_.welcome;
  w.envelope = {settings_.job.fingerprint, settings_.job.dp_size};
  w.session = s.session;
  w.start = start_cursor(settings_.job);
  outputs_.push_back(ToTrainer{address, std::move(w)});
}

void Sink::on_subscribe(const std::string& address, const Subscribe& s, Instant now) {
  if (state_ == SinkState::kDone || !admits(address, s)) return;
  Peer& p = peers_[s.peer];
  p.contact = now;
  if (!s.want) return answer_welcome(address, s);
  if (!takes_over(address, p, s, now)) return;
  p.address = address;
  p.seq = s.seq;
  p.heard = now;
  p.want = *s.want;
  p.room = std::min(s.room, settings_.room_max);
  p.progress = s.progress;
  p.sent.erase(p.sent.begin(), p.sent.lower_bound({p.want.point, false}));
  const bool was_done = all_done();
  p.done |= s.done;
  if (state_ == SinkState::kWaiting) state_ = SinkState::kServing;
  const std::optional<StreamPoint> before = mark();
  move_mark();
  refuse_misfits();
  if (end_if_bare(now)) return;
  release(p);
  for (Peer& each : peers_) serve(each, now);
  if (mark() != before || all_done() != was_done) report(now);
}

// S2: the mark is what the slowest of the ranks wants, also when that lies further back.
void Sink::move_mark() {
  const Cursor* lowest = nullptr;
  for (const Peer& p : peers_)
    if (p.session && (lowest == nullptr || p.want.point < lowest->point)) lowest = &p.want;
  if (lowest_want_ != *lowest) {
    if (mark_ && lowest->point < lowest_want_->point) ++counters_.went_back;
    lowest_want_ = mark_ = *lowest;
  }
  settle();
}

// What is at the cursor. That its positions fit is what makes the stream one stream.
const Slice* Sink::slice_at(const Cursor& c) const {
  const WindowKey key = window_at(settings_.job, c);
  const Slice* s = shelf_.find(key);
  return s != nullptr && s->before == c.lanes[key.lane].position ? s : nullptr;
}

// S3: a slice with another position than the one that is wanted is given up, whichever of the two
// is wrong, and the rank that wants it is told.
void Sink::refuse_misfits() {
  for (const Peer& p : peers_) {
    if (!p.session) continue;
    for (std::uint32_t lane = 0; lane < p.want.lanes.size(); ++lane) {
      const Place& place = p.want.lanes[lane];
      const WindowKey key{lane, place.epoch, place.index};
      const Slice* s = shelf_.find(key);
      if (s == nullptr || s->before == place.position) continue;
      shelf_.drop(key);
      ++counters_.slices_misfit;
      send_error(p.address, *p.session, ErrorReason::kOtherJob,
                 fmt::format(
                     "sink {}: the cursor's position in lane {} (window {} of it, epoch {}) is not "
                     "where the line made that window: a checkpoint was changed by hand, or the "
                     "ranks loaded different ones; go on from one that all of them share",
                     settings_.dp_rank, lane, place.index, place.epoch));
    }
  }
}

// P3: what a producer cannot read is told to every rank that wants exactly that.
void Sink::refuse_unreadable(const Notice& n, Instant now) {
  for (const LaneNotice& lane : n.lanes) {
    if (!lane.refused || lane.lane >= settings_.job.lanes) continue;
    for (const Peer& p : peers_) {
      if (!p.session || now - p.heard > settings_.times.silent) continue;
      const Place& place = p.want.lanes[lane.lane];
      if (std::tie(place.epoch, place.index) != std::tie(lane.epoch, lane.index) ||
          xxh3(place.position) != lane.refused->position_hash)
        continue;
      ++counters_.refused_bad;
      send_error(p.address, *p.session,
                 lane.refused->gone ? ErrorReason::kDataRefused : ErrorReason::kOtherJob,
                 fmt::format("sink {}: producer {} cannot read where the cursor stands: {}",
                             settings_.dp_rank, n.producer, lane.refused->text));
    }
  }
}

// S4: nobody waits for windows without packs; if they held credit, W of them in a row would hold
// all of it for ever.
void Sink::settle() {
  Cursor& c = *mark_;
  while (c.point.epoch < settings_.job.epochs && c.point.pack == 0) {
    const Slice* s = slice_at(c);
    if (s == nullptr || s->packs > 0) break;
    Cursor next = after_window(settings_.job, c, s->after, s->last);
    shelf_.pass_over(s->key);
    c = std::move(next);
  }
  shelf_.settle(c.lanes, lowest_want_->lanes);
}

bool Sink::admits(const Slice& s) {
  const JobShape& job = settings_.job;
  if (s.envelope.job != job.fingerprint) {
    ++counters_.refused_other_job;
    return false;
  }
  if (s.envelope.dp_size != job.dp_size) {
    ++counters_.refused_other_dp_size;
    return false;
  }
  if (s.dp_rank != settings_.dp_rank || s.key.lane >= job.lanes || s.packs % job.dp_size != 0 ||
      s.parts.size() != s.packs / job.dp_size) {
    ++counters_.refused_bad;
    return false;
  }
  return true;
}

// S3.
void Sink::on_slice(Slice s, Instant now) {
  if (state_ == SinkState::kDone || !admits(s)) return;
  if (!mark_) {
    ++counters_.slices_early;
    return;
  }
  const Place& next = mark_->lanes[s.key.lane];
  if (std::tie(s.key.epoch, s.key.index) < std::tie(next.epoch, next.index)) {
    ++counters_.slices_had;
    return;
  }
  switch (shelf_.put(std::move(s))) {
    case Shelf::Put::kHad:
      ++counters_.slices_had;
      return;
    case Shelf::Put::kFull:
      ++counters_.slices_full;
      return;
    case Shelf::Put::kEvicted:
      ++counters_.slices_evicted;
      break;
    case Shelf::Put::kKept:
      break;
  }
  ++counters_.slices;
  refuse_misfits();
  settle();
  if (end_if_bare(now)) return;
  for (Peer& p : peers_) serve(p, now);
  report(now);
}

void Sink::on_notice(const Notice& n, Instant now) {
  if (state_ == SinkState::kDone) return;
  if (n.envelope.job != settings_.job.fingerprint) {
    ++counters_.refused_other_job;
    return;
  }
  if (n.envelope.dp_size != settings_.job.dp_size) {
    ++counters_.refused_other_dp_size;
    return;
  }
  line_.on_notice(n, now);
  refuse_unreadable(n, now);
  if (state_ != SinkState::kReleased && line_.all_finished()) {
    state_ = SinkState::kReleased;
    released_at_ = now;
    for (Peer& p : peers_) release(p);
  }
}

void Sink::tick(Instant now) {
  if (state_ == SinkState::kDone) return;
  check_end(now);
  if (state_ == SinkState::kDone) return;
  for (Peer& p : peers_) {
    serve(p, now);
    tell_waiting(p, now);
  }
  if (now - reported_ >= settings_.times.report) report(now);
}

std::vector<SinkOutput> Sink::take_outputs() { return std::exchange(outputs_, {}); }

std::optional<StreamPoint> Sink::mark() const {
  return mark_ ? std::optional(mark_->point) : std::nullopt;
}

}  // namespace packline

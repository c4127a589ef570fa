#include "producer/producer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "lib/base/check.h"

namespace packline {

std::string_view name_of(ProducerState s) {
  switch (s) {
    case ProducerState::kActive:
      return "active";
    case ProducerState::kFinished:
      return "finished";
    case ProducerState::kDone:
      return "done";
  }
  PL_CHECK(false);
}

Producer::Producer(ProducerSettings settings, Instant now)
    : settings_(std::move(settings)),
      reports_(settings_.times.silent),
      leases_(settings_.times.lease),
      started_(now),
      heard_(now) {
  for (std::uint32_t lane = settings_.index; lane < settings_.job.lanes;
       lane += settings_.producers)
    lanes_[lane];
}

bool Producer::admits(const Report& r) {
  if (r.envelope.job != settings_.job.fingerprint) {
    ++counters_.refused_other_job;
    return false;
  }
  if (r.envelope.dp_size != settings_.job.dp_size) {
    ++counters_.refused_other_dp_size;
    return false;
  }
  std::set<std::uint32_t> told;
  for (const auto& [lane, place] : r.lanes)
    if (lanes_.contains(lane) && place.epoch <= settings_.job.epochs) told.insert(lane);
  const bool whole =
      r.lanes.empty() || (told.size() == lanes_.size() && told.size() == r.lanes.size());
  if (r.dp_rank >= settings_.job.dp_size || !whole) {
    ++counters_.refused_bad;
    return false;
  }
  return true;
}

void Producer::on_report(const Report& r, Instant now) {
  if (state_ == ProducerState::kDone || !admits(r)) return;
  heard_ = now;
  switch (reports_.take(r, now)) {
    case RankReports::Verdict::kStale:
      ++counters_.reports_stale;
      return;
    case RankReports::Verdict::kNewSession:
      leases_.drop_rank(r.dp_rank);
      break;
    case RankReports::Verdict::kNewer:
      break;
  }
  plan(now);
}

void Producer::plan(Instant now) {
  if (state_ != ProducerState::kActive) return;
  for (auto& [lane, l] : lanes_) plan_lane(lane, l);
  const bool all_full = std::ranges::all_of(lanes_, [&](const auto& l) { return full(l.second); });
  if (!all_full)
    full_since_.reset();
  else if (!full_since_)
    full_since_ = now;
}

// Whether the place is that of a held window, or of the next one to read. A place whose position
// differs is another one: it came from a cursor that was changed by hand.
bool Producer::reaches(const Lane& l, const Place& base) {
  if (!l.head) return false;
  if (base == *l.head) return true;
  const auto it = l.held.find({base.epoch, base.index});
  return it != l.held.end() && it->second.before == base.position;
}

// P2 and P3. The lowest place decides, together with the position that came with it: whatever was
// freed or sent before, it is never assumed that nobody asks for it again.
void Producer::plan_lane(std::uint32_t lane, Lane& l) {
  const auto slowest = reports_.slowest_in(lane);
  if (!slowest) return;
  if (!l.head || !awaited_rank(lane)) {
    move_base(lane, l, *RankReports::place_of(reports_.all().at(*slowest).report, lane));
  }
  if (l.held.size() < settings_.window_credit && l.ticket == 0 && l.refused.empty() &&
      l.head->epoch < settings_.job.epochs) {
    l.ticket = next_ticket_++;
    l.asked = false;
  }
}

// Of a source that is read once: a rank that has not said yet what it wants in this lane. It may
// want what others have already.
std::optional<std::uint32_t> Producer::awaited_rank(std::uint32_t lane) const {
  if (!settings_.reads_once) return std::nullopt;
  for (std::uint32_t rank = 0; rank < settings_.job.dp_size; ++rank) {
    const auto it = reports_.all().find(rank);
    if (it == reports_.all().end() || RankReports::place_of(it->second.report, lane) == nullptr)
      return rank;
  }
  return std::nullopt;
}

void Producer::move_base(std::uint32_t lane, Lane& l, const Place& base) {
  const Key key{base.epoch, base.index};
  if (l.base != base) {
    l.base = base;
    l.refused.clear();
  }
  if (!reaches(l, base)) {
    counters_.seeks += l.head.has_value();
    l.held.clear();
    l.head = base;
    l.ticket = 0;
  }
  l.held.erase(l.held.begin(), l.held.lower_bound(key));
  leases_.drop_below({lane, base.epoch, base.index});
}

std::vector<ReadRequest> Producer::take_reads(Instant now) {
  std::vector<ReadRequest> reads;
  if (state_ != ProducerState::kActive) return reads;
  for (auto& [lane, l] : lanes_) {
    if (l.ticket == 0 || l.asked) continue;
    l.asked = true;
    l.reading_since = now;
    reads.push_back({l.ticket, lane, *l.head});
  }
  std::ranges::sort(reads, {}, [](const ReadRequest& r) {
    return std::tuple(r.place.epoch, r.place.index, r.lane);
  });
  return reads;
}

bool Producer::wanted(std::uint64_t ticket) const {
  return state_ == ProducerState::kActive && ticket != 0 &&
         std::ranges::any_of(lanes_, [&](const auto& l) { return l.second.ticket == ticket; });
}

bool Producer::on_window(std::uint64_t ticket, Window w, Instant now) {
  if (!wanted(ticket)) {
    ++counters_.reads_dropped;
    return false;
  }
  const auto it = lanes_.find(w.key.lane);
  PL_CHECK(it != lanes_.end() && it->second.ticket == ticket);
  Lane& l = it->second;
  PL_CHECK_EQ(w.key.epoch, l.head->epoch);
  PL_CHECK_EQ(w.key.index, l.head->index);
  PL_CHECK_EQ(w.before, l.head->position);
  w.envelope = {settings_.job.fingerprint, settings_.job.dp_size};
  l.ticket = 0;
  l.head = w.last ? Place{w.key.epoch + 1, 0, ""} : Place{w.key.epoch, w.key.index + 1, w.after};
  const Key key{w.key.epoch, w.key.index};
  l.held.emplace(key, std::move(w));
  PL_CHECK(l.held.size() <= settings_.window_credit);
  ++counters_.windows_closed;
  plan(now);
  return true;
}

// A position comes from whoever can subscribe: it must not be able to end the line. P2 decides
// again as soon as the base is another one.
bool Producer::on_refused(std::uint64_t ticket, std::string text, bool gone) {
  if (!wanted(ticket)) return false;
  Lane& l =
      std::ranges::find(lanes_, ticket, [](const auto& e) { return e.second.ticket; })->second;
  l.ticket = 0;
  l.refused = text.empty() ? "the place is none of this job's" : std::move(text);
  l.gone = gone;
  ++counters_.places_refused;
  return true;
}

void Producer::on_source_wait(std::string what, Instant now) {
  if (what == source_wait_) return;
  source_wait_ = std::move(what);
  source_wait_since_ = now;
}

std::vector<Destination> Producer::lacking(const WindowKey& key, Instant now) const {
  std::vector<Destination> to;
  for (const auto& [rank, entry] : reports_.all()) {
    const Report& r = entry.report;
    const Place* p = RankReports::place_of(r, key.lane);
    if (p == nullptr || std::tie(key.epoch, key.index) < std::tie(p->epoch, p->index)) continue;
    if (now - entry.at > settings_.times.silent) continue;  // nothing is sent on old evidence
    if (leases_.running(key, rank, now) || std::ranges::find(r.held, key) != r.held.end()) continue;
    to.push_back({rank, r.endpoint});
  }
  return to;
}

std::vector<Window*> Producer::in_order() {
  std::vector<Window*> windows;
  for (auto& [lane, l] : lanes_)
    for (auto& [key, w] : l.held) windows.push_back(&w);
  std::ranges::sort(windows, {}, [](const Window* w) {
    return std::tuple(w->key.epoch, w->key.index, w->key.lane);
  });
  return windows;
}

void Producer::dispatch(Instant now, const std::function<bool(const Window&)>& try_send) {
  if (state_ != ProducerState::kActive) return;
  for (Window* w : in_order()) {
    w->to = lacking(w->key, now);
    if (w->to.empty()) continue;
    if (!try_send(*w)) {
      if (!unsent_since_) unsent_since_ = now;
      return;
    }
    unsent_since_.reset();
    ++counters_.windows_sent;
    bool again = false;
    for (const Destination& d : w->to) again |= leases_.start(w->key, d.dp_rank, now);
    counters_.windows_sent_again += again;
  }
  unsent_since_.reset();
}

void Producer::tick(Instant now) {
  if (state_ == ProducerState::kDone) return;
  plan(now);
  const auto& ranks = reports_.all();
  const auto all = [&](bool Report::* flag) {
    return ranks.size() == settings_.job.dp_size &&
           std::ranges::all_of(ranks, [&](const auto& e) { return e.second.report.*flag; });
  };
  const DeliveryTimes& t = settings_.times;
  if (state_ == ProducerState::kActive) {
    if (all(&Report::done)) {
      state_ = ProducerState::kFinished;
      finished_at_ = now;
      unsent_since_.reset();
      full_since_.reset();
    } else if (now - heard_ > t.fail_after) {
      end(ExitCode::kUnreachable,
          fmt::format(
              "producer {}: no sink has reported for {}: start the sinks, or check that they "
              "can reach this producer's address",
              settings_.index, in_words(now - heard_)));
    }
    return;
  }
  if (all(&Report::bye) && now - finished_at_ > t.linger / 2)
    end(ExitCode::kDone, "every trainer rank is done and every sink has left");
  else if (now - std::max(heard_, finished_at_) > t.linger)
    end(ExitCode::kDone, fmt::format("every trainer rank is done; no sink has reported for {}",
                                     in_words(now - std::max(heard_, finished_at_))));
}

void Producer::end(ExitCode code, std::string text) {
  state_ = ProducerState::kDone;
  exit_ = Exit{code, std::move(text)};
}

std::uint32_t Producer::held() const {
  std::size_t n = 0;
  for (const auto& [lane, l] : lanes_) n += l.held.size();
  return static_cast<std::uint32_t>(n);
}

}  // namespace packline

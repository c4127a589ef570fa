// What a producer tells of itself: to packers and sinks (Notice) and in its status document.

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "lib/hash/xxh3.h"
#include "producer/producer.h"

namespace packline {
namespace {

constexpr std::size_t kSentTold = 64;
constexpr std::size_t kRefusedTold = 64;  // lanes whose refusal is told with its sentence
constexpr std::size_t kRefusedBytes = 512;

// A sentence may quote what came from outside; positions in it are printable (lib/windows).
std::string cut(const std::string& text) {
  return text.size() <= kRefusedBytes ? text : text.substr(0, kRefusedBytes) + "...";
}

}  // namespace

bool Producer::on_its_way(const Leases::Lease& l) const {
  const auto it = reports_.all().find(l.dp_rank);
  if (it == reports_.all().end()) return false;
  const Report& r = it->second.report;
  const Place* p = RankReports::place_of(r, l.key.lane);
  return p != nullptr && std::tie(l.key.epoch, l.key.index) >= std::tie(p->epoch, p->index) &&
         std::ranges::find(r.held, l.key) == r.held.end();
}

std::optional<std::uint32_t> Producer::slowest_rank() const {
  std::optional<std::uint32_t> slowest;
  Key lowest{};
  for (const auto& [lane, l] : lanes_) {
    if (!full(l)) continue;
    const Key base = l.held.begin()->first;
    if (slowest && base >= lowest) continue;
    lowest = base;
    const auto awaited = awaited_rank(lane);
    slowest = awaited ? awaited : reports_.slowest_in(lane);
  }
  return slowest;
}

Notice Producer::notice(std::uint32_t packers_connected, Instant now) const {
  Notice n;
  n.envelope = {settings_.job.fingerprint, settings_.job.dp_size};
  n.producer = settings_.index;
  n.session = settings_.session;
  n.finished = state_ != ProducerState::kActive && (!exit_ || exit_->code == ExitCode::kDone);
  n.packers = packers_connected;
  // At least 1 while one waits: 0 says that none does.
  if (unsent_since_) n.unsent_ms = std::max<std::uint64_t>(1, elapsed_ms(*unsent_since_, now));
  std::size_t refused = 0;
  for (const auto& [lane, l] : lanes_) {
    LaneNotice ln;
    ln.lane = lane;
    ln.has_head = l.head.has_value();
    if (l.head) std::tie(ln.epoch, ln.index) = std::tie(l.head->epoch, l.head->index);
    ln.held = static_cast<std::uint32_t>(l.held.size());
    ln.reading = l.ticket != 0 && l.asked;
    if (ln.reading) {
      ln.waits_for = cut(source_wait_);
      ln.reading_ms = elapsed_ms(source_wait_.empty() ? l.reading_since : source_wait_since_, now);
    }
    if (!l.refused.empty()) {
      ln.refused = {xxh3(l.head->position), ++refused > kRefusedTold ? "" : cut(l.refused), l.gone};
    }
    n.lanes.push_back(std::move(ln));
  }
  for (const Leases::Lease& l : leases_.oldest()) {
    if (n.sent.size() == kSentTold) break;
    if (on_its_way(l))
      n.sent.push_back(
          {l.key, l.dp_rank, elapsed_ms(l.sent, now), l.tries, elapsed_ms(now, l.until)});
  }
  n.identity = settings_.identity;
  n.slowest_rank = slowest_rank();
  if (n.slowest_rank) {
    const auto it = reports_.all().find(*n.slowest_rank);
    n.slowest_silent_ms = elapsed_ms(it == reports_.all().end() ? started_ : it->second.at, now);
  }
  return n;
}

std::vector<Wait> Producer::waits(Instant now, std::uint32_t packers_connected) const {
  std::vector<Wait> waits;
  if (state_ == ProducerState::kDone) return waits;
  for (std::uint32_t rank = 0; rank < settings_.job.dp_size; ++rank) {
    const auto it = reports_.all().find(rank);
    const std::string sink = fmt::format("sink {}", rank);
    if (it == reports_.all().end()) {
      waits.push_back({"its first report", sink, elapsed_ms(started_, now)});
    } else if (state_ == ProducerState::kFinished) {
      if (!it->second.report.bye)
        waits.push_back({"its goodbye", sink, elapsed_ms(finished_at_, now)});
    } else if (now - it->second.at > settings_.times.silent) {
      waits.push_back({"a report", sink, elapsed_ms(it->second.at, now)});
    } else if (it->second.report.lanes.empty()) {
      waits.push_back({"its trainer to subscribe", sink, elapsed_ms(started_, now),
                       !settings_.absent_trainer_fails});
    }
  }
  if (unsent_since_)
    waits.push_back({"a packer that takes a window",
                     packers_connected == 0
                         ? std::string("packers (none is connected: start one)")
                         : fmt::format("packers ({} connected, all busy)", packers_connected),
                     elapsed_ms(*unsent_since_, now)});
  for (const auto& [lane, l] : lanes_) {
    if (l.refused.empty()) continue;
    waits.push_back({fmt::format("a cursor that it can read in lane {} ({})", lane, cut(l.refused)),
                     fmt::format("sink {}", *reports_.slowest_in(lane)),
                     elapsed_ms(l.reading_since, now)});
  }
  if (!source_wait_.empty())
    waits.push_back({"records", source_wait_, elapsed_ms(source_wait_since_, now)});
  const auto slowest = slowest_rank();
  if (full_since_ && slowest)
    waits.push_back({"its trainer to take packs: all credit is used",
                     fmt::format("sink {}", *slowest), elapsed_ms(*full_since_, now), true});
  return waits;
}

}  // namespace packline

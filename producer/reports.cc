#include "producer/reports.h"

#include <algorithm>
#include <tuple>

namespace packline {

bool RankReports::newer(const Report& r, const Entry& old, Instant now) const {
  if (r.session == old.report.session) return r.seq > old.report.seq;
  if (now - old.at > silent_) return true;
  return r.live && (!old.report.live || r.heard > old.report.heard);
}

RankReports::Verdict RankReports::take(const Report& r, Instant now) {
  const auto it = ranks_.find(r.dp_rank);
  if (it == ranks_.end()) {
    ranks_.emplace(r.dp_rank, Entry{r, now});
    return Verdict::kNewer;
  }
  Entry& old = it->second;
  if (!newer(r, old, now)) return Verdict::kStale;
  const bool same = r.session == old.report.session;
  old = {r, now};
  return same ? Verdict::kNewer : Verdict::kNewSession;
}

const Place* RankReports::place_of(const Report& r, std::uint32_t lane) {
  const auto it = std::ranges::find(r.lanes, lane, &std::pair<std::uint32_t, Place>::first);
  return it == r.lanes.end() ? nullptr : &it->second;
}

std::optional<std::uint32_t> RankReports::slowest_in(std::uint32_t lane) const {
  std::optional<std::uint32_t> slowest;
  const Place* lowest = nullptr;
  for (const auto& [rank, entry] : ranks_) {
    const Place* p = place_of(entry.report, lane);
    if (p == nullptr) continue;
    if (lowest == nullptr ||
        std::tie(p->epoch, p->index) < std::tie(lowest->epoch, lowest->index)) {
      lowest = p;
      slowest = rank;
    }
  }
  return slowest;
}

}  // namespace packline

#include "lib/delivery/place.h"

#include <algorithm>

#include "lib/base/check.h"

namespace packline {

Cursor start_cursor(const JobShape& job) {
  return normalised(job, Cursor{StreamPoint{}, std::vector<Place>(job.lanes)});
}

std::uint32_t lane_of(const JobShape& job, const Cursor& c) {
  return static_cast<std::uint32_t>(c.point.window % job.lanes);
}

WindowKey window_at(const JobShape& job, const Cursor& c) {
  const std::uint32_t lane = lane_of(job, c);
  const Place& p = c.lanes[lane];
  return {lane, p.epoch, p.index};
}

Cursor normalised(const JobShape& job, Cursor c) {
  PL_CHECK_EQ(c.lanes.size(), job.lanes);
  StreamPoint& at = c.point;
  while (at.epoch < job.epochs) {
    if (std::ranges::all_of(c.lanes, [&](const Place& p) { return p.epoch > at.epoch; }))
      at = {at.epoch + 1, 0, 0};
    else if (c.lanes[lane_of(job, c)].epoch > at.epoch)
      at = {at.epoch, at.window + 1, 0};
    else
      break;
  }
  return c;
}

Cursor after_window(const JobShape& job, Cursor c, const std::string& after, bool last) {
  Place& p = c.lanes[lane_of(job, c)];
  p = last ? Place{c.point.epoch + 1, 0, ""} : Place{c.point.epoch, p.index + 1, after};
  c.point = {c.point.epoch, c.point.window + 1, 0};
  return normalised(job, std::move(c));
}

bool is_cursor_of(const JobShape& job, const Cursor& c) {
  const StreamPoint& at = c.point;
  if (c.lanes.size() != job.lanes || at.epoch > job.epochs) return false;
  const auto stands_before = [](const Place& p, std::uint64_t epoch) {
    return p.epoch == epoch && p.index == 0 && p.position.empty();
  };
  if (at.epoch == job.epochs)
    return at.window == 0 && at.pack == 0 &&
           std::ranges::all_of(c.lanes, [&](const Place& p) { return stands_before(p, at.epoch); });
  const std::uint32_t own = lane_of(job, c);
  const std::uint64_t round = at.window / job.lanes;
  for (std::uint32_t lane = 0; lane < job.lanes; ++lane) {
    const Place& p = c.lanes[lane];
    const bool ended = lane != own && stands_before(p, at.epoch + 1);
    const bool open = p.epoch == at.epoch && p.index == round + (lane < own ? 1 : 0);
    if (!ended && !open) return false;
  }
  return true;
}

}  // namespace packline

#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace packline {

// What delivery knows of a job: enough to number windows and packs, nothing of their content.
struct JobShape {
  std::uint64_t fingerprint = 0;
  std::uint32_t lanes = 1;
  std::uint64_t epochs = 1;  // kContinuous: no end
  std::uint32_t dp_size = 1;
  bool operator==(const JobShape&) const = default;
};
constexpr std::uint64_t kContinuous = UINT64_MAX;

// The next window of a lane. Ordered by (epoch, index); `position` is opaque, "" = before the first
// record. After a lane's last window of epoch e its place is (e + 1, 0, "").
struct Place {
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  std::string position;
  bool operator==(const Place&) const = default;
};

// A window of a lane, as sinks and producers name what they hold.
struct WindowKey {
  std::uint32_t lane = 0;
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  auto operator<=>(const WindowKey&) const = default;
};

// A point of the stream without positions: all three count from 0; `pack` counts packs of the
// window over all ranks.
struct StreamPoint {
  std::uint64_t epoch = 0;
  std::uint64_t window = 0;
  std::uint64_t pack = 0;
  auto operator<=>(const StreamPoint&) const = default;
};

// What comes next, computed from nothing later than that, so equal on all ranks at one step. The
// place of the window's own lane stays before it until its last pack is taken.
struct Cursor {
  StreamPoint point;
  std::vector<Place> lanes;  // one a lane
  bool operator==(const Cursor&) const = default;
};

Cursor start_cursor(const JobShape& job);

// The lane of the cursor's window, and that window's key.
std::uint32_t lane_of(const JobShape& job, const Cursor& c);
WindowKey window_at(const JobShape& job, const Cursor& c);

// Skips windows whose lane already stands in a later epoch; when all do, the cursor is
// (epoch + 1, 0, 0). Stops at the job's end (point.epoch == epochs).
Cursor normalised(const JobShape& job, Cursor c);

// The cursor after the last pack of its window, whose closing said `after` and `last`.
Cursor after_window(const JobShape& job, Cursor c, const std::string& after, bool last);

// Whether the numbers can be those of a cursor of this job (positions are not looked at, and
// whether `pack` is within its window cannot be known here). Cheap, whatever the numbers.
bool is_cursor_of(const JobShape& job, const Cursor& c);

}  // namespace packline

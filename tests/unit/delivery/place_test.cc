#include "lib/delivery/place.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

const JobShape kJob{7, 2, 3, 1};  // two lanes, three epochs

Cursor cursor(StreamPoint at, std::vector<Place> lanes) { return {at, std::move(lanes)}; }

TEST_CASE("Place: the start is the first window of the first epoch, nothing read") {
  const Cursor c = start_cursor(kJob);
  CHECK(c.point == StreamPoint{0, 0, 0});
  CHECK(c.lanes == std::vector<Place>(2));
  CHECK(window_at(kJob, c) == WindowKey{0, 0, 0});
}

TEST_CASE("Place: after a window the next lane's window comes") {
  const Cursor c = after_window(kJob, start_cursor(kJob), "5.0.0", false);
  CHECK(c.point == StreamPoint{0, 1, 0});
  CHECK(c.lanes[0] == Place{0, 1, "5.0.0"});
  CHECK(window_at(kJob, c) == WindowKey{1, 0, 0});
}

TEST_CASE("Place: the windows of a lane that has ended are skipped") {
  Cursor c = after_window(kJob, start_cursor(kJob), "x", true);  // lane 0 has ended
  CHECK(c.lanes[0] == Place{1, 0, ""});
  c = after_window(kJob, c, "y", false);
  CHECK(c.point == StreamPoint{0, 3, 0});  // window 2 would be lane 0's
  CHECK(window_at(kJob, c) == WindowKey{1, 0, 1});
}

TEST_CASE("Place: when every lane has ended the next epoch begins") {
  Cursor c = after_window(kJob, start_cursor(kJob), "x", true);
  c = after_window(kJob, c, "y", true);
  CHECK(c.point == StreamPoint{1, 0, 0});
  CHECK(c.lanes == std::vector<Place>(2, Place{1, 0, ""}));
}

TEST_CASE("Place: the job's end is a cursor like any other") {
  JobShape job = kJob;
  job.epochs = 1;
  Cursor c = after_window(job, start_cursor(job), "x", true);
  c = after_window(job, c, "y", true);
  CHECK(c.point == StreamPoint{1, 0, 0});
  CHECK(normalised(job, c) == c);
}

TEST_CASE("Place: a continuous job goes on") {
  JobShape job = kJob;
  job.epochs = kContinuous;
  Cursor c = cursor({1u << 20, 0, 0}, std::vector<Place>(2, Place{1u << 20, 0, ""}));
  c = after_window(job, after_window(job, c, "x", true), "y", true);
  CHECK(c.point == StreamPoint{(1u << 20) + 1, 0, 0});
}

TEST_CASE("Place: every cursor of a walk is a cursor of the job") {
  Cursor c = start_cursor(kJob);
  for (int i = 0; c.point.epoch < kJob.epochs; ++i) {
    CHECK(is_cursor_of(kJob, c));
    c = after_window(kJob, c, std::to_string(i), i % 3 == 2);
  }
  CHECK(is_cursor_of(kJob, c));
}

TEST_CASE("Place: numbers that no walk gives are no cursor") {
  const std::vector<Place> start(2);
  CHECK_FALSE(is_cursor_of(kJob, cursor({0, 0, 0}, std::vector<Place>(3))));
  CHECK_FALSE(is_cursor_of(kJob, cursor({4, 0, 0}, start)));
  CHECK_FALSE(is_cursor_of(kJob, cursor({0, 2, 0}, start)));  // lane 0 is not at 1
  CHECK_FALSE(is_cursor_of(kJob, cursor({0, 1, 0}, start)));  // lane 0 was not read
  CHECK_FALSE(is_cursor_of(kJob, cursor({3, 1, 0}, std::vector<Place>(2, Place{3, 0, ""}))));
  // Far in the future: answered at once, not by walking there.
  const Place far{UINT64_MAX - 1, 0, ""};
  CHECK_FALSE(is_cursor_of({7, 2, kContinuous, 1}, cursor({0, 0, 0}, {far, far})));
}

}  // namespace
}  // namespace packline

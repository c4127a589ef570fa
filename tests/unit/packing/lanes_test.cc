// The laws of windows over thousands of random lanes, strategy by strategy.

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/packing/lane_laws.h"

namespace packline::test {
namespace {

// L1: "The packs of a window are a pure function of the job": how far the reading side happened to
// read ahead is no part of it.
std::string difference(const LaneRun& a, const LaneRun& b) {
  if (a.windows.size() != b.windows.size()) return "another number of windows";
  for (std::size_t w = 0; w < a.windows.size(); ++w) {
    const Closing &x = a.windows[w].closing, &y = b.windows[w].closing;
    if (x.packs != y.packs || x.placed != y.placed || x.lost != y.lost ||
        x.considered != y.considered || x.cut != y.cut || x.last != y.last)
      return fmt::format("window {} differs", w);
  }
  return "";
}

// What the lanes of a strategy have tried, so that a law that nothing touches is noticed.
struct Tried {
  std::uint64_t carried = 0, repeated = 0, lost = 0, windows = 0, media = 0;
};

Tried try_lanes(Strategy strategy, std::uint64_t first, std::uint64_t count, bool wide) {
  Tried tried;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    const RandomLane lane = random_lane(seed, strategy, wide);
    const LaneRun run = run_lane(lane.settings, lane.samples);
    REQUIRE(broken_promise(lane, run, wide) == "");
    if (seed % 4 == 0) {
      const auto more = static_cast<std::uint32_t>(1 + seed % 90);
      REQUIRE(difference(run, run_lane(lane.settings, lane.samples, more)) == "");
    }
    tried.windows += run.windows.size();
    tried.carried += run.carried_max;
    for (const LaneWindow& w : run.windows) {
      tried.lost += w.closing.lost.size();
      for (const Placed& p : w.closing.placed) {
        tried.repeated += p.repetition > 0 ? 1 : 0;
        tried.media += lane.settings.same_kind && lane.samples[p.candidate].media ? 1 : 0;
      }
    }
  }
  return tried;
}

}  // namespace

// L2: "Every window has exactly packs_per_window packs (each lane's last window aside), always a
// multiple of dp_size_multiple." L4: "Nothing is lost silently."
TEST_CASE("Lanes: best fit decreasing keeps the laws of windows, whatever the settings") {
  const Tried tried = try_lanes(Strategy::kBestFitDecreasing, 0, 3000, false);
  CHECK(tried.carried > 10000);
  CHECK(tried.repeated > 1000);
  CHECK(tried.lost > 1000);
  CHECK(tried.media > 10000);
}

TEST_CASE("Lanes: first fit decreasing keeps the laws of windows, whatever the settings") {
  const Tried tried = try_lanes(Strategy::kFirstFitDecreasing, 10000, 2000, false);
  CHECK(tried.carried > 10000);
  CHECK(tried.media > 10000);
}

TEST_CASE("Lanes: a look-ahead of many windows breaks none of the laws") {
  CHECK(try_lanes(Strategy::kBestFitDecreasing, 20000, 800, true).carried > 10000);
  CHECK(try_lanes(Strategy::kFirstFitDecreasing, 30000, 400, true).carried > 5000);
}

TEST_CASE("Lanes: spread keeps the laws of windows, whatever the settings") {
  const Tried tried = try_lanes(Strategy::kSpread, 40000, 2000, false);
  CHECK(tried.windows > 5000);
  CHECK(tried.media > 10000);
}

TEST_CASE("Lanes: sequential keeps the laws of windows, whatever the settings") {
  const Tried tried = try_lanes(Strategy::kSequential, 50000, 2000, false);
  CHECK(tried.windows > 5000);
  CHECK(tried.repeated > 1000);
  CHECK(tried.lost > 500);
}

TEST_CASE("Lanes: wrapped keeps the laws of windows, whatever the settings") {
  const Tried tried = try_lanes(Strategy::kWrapped, 60000, 2000, false);
  CHECK(tried.windows > 5000);
  CHECK(tried.repeated > 1000);
  CHECK(tried.lost > 1000);
}

}  // namespace packline::test

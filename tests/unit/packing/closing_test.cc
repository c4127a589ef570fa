#include "lib/packing/closing.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "lib/base/random.h"
#include "tests/unit/packing/lane.h"

namespace packline::test {
namespace {

using Lengths = std::vector<std::uint32_t>;

struct RandomLane {
  PackSettings settings;
  Lengths lengths;
};

// A small lane of any shape: short, long, around a half or a third of the capacity; look-ahead of
// at most a window unless `wide`.
RandomLane random_lane(std::uint64_t seed, bool wide) {
  Rng rng(mix64(seed));
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
  RandomLane lane;
  PackSettings& s = lane.settings;
  s.capacity = 1 + below(200);
  s.dp_size_multiple = 1 + below(4);
  s.packs_per_window = s.dp_size_multiple * (1 + below(6));
  s.lookahead_packs = wide ? below(60) : below(s.packs_per_window + 1);
  s.lookahead_samples_max = below(3) == 0 ? below(30) : 1000;
  s.lookahead_windows_max = below(4);
  s.strategy = below(5) == 0 ? Strategy::kSequential : Strategy::kBestFitDecreasing;
  s.seed = rng.next();
  const std::uint32_t c = s.capacity;
  const std::pair<std::uint32_t, std::uint32_t> ranges[] = {
      {1, c},         {1, c / 8}, {c / 4, c}, {c / 5, c / 2 + 1},
      {c / 6, c / 3}, {c / 3, c}, {c, c},     {c / 2 + 1, c / 2 + 1}};
  auto [least, most] = ranges[below(8)];
  least = std::clamp(least, 1U, c);
  most = std::clamp(most, least, c);
  lane.lengths.resize(below(10) == 0 ? below(3) : below(400));
  for (auto& length : lane.lengths) length = least + below(most - least + 1);
  return lane;
}

void check_window(const RandomLane& lane, const LaneWindow& window, bool last) {
  const PackSettings& s = lane.settings;
  if (!last) REQUIRE(window.closing.packs == s.packs_per_window);
  REQUIRE(window.closing.packs <= s.packs_per_window);
  REQUIRE(window.closing.packs % s.dp_size_multiple == 0);
  REQUIRE(std::is_sorted(window.samples.begin(), window.samples.end()));

  Lengths lengths;
  for (const auto i : window.samples) lengths.push_back(lane.lengths[i]);
  Planner planner(s.capacity);
  const Bins bins = assign(s, planner, 0, 0, lengths, window.closing.packs);  // CHECKs the number
  REQUIRE(bins.size() == window.closing.packs);
  std::size_t placed = 0;
  for (const auto& bin : bins) {
    std::uint64_t tokens = 0;
    for (const auto i : bin) tokens += lengths[i];
    REQUIRE(tokens <= s.capacity);
    placed += bin.size();
  }
  REQUIRE(placed == lengths.size());
}

void check_lane(std::uint64_t seed, bool wide) {
  CAPTURE(seed);
  const RandomLane lane = random_lane(seed, wide);
  const LaneRun run = run_lane(lane.settings, lane.lengths);
  Lengths taken;
  for (const LaneWindow& window : run.windows) {
    check_window(lane, window, &window == &run.windows.back());
    taken.insert(taken.end(), window.samples.begin(), window.samples.end());
  }
  std::sort(taken.begin(), taken.end());
  Lengths all(lane.lengths.size());
  std::iota(all.begin(), all.end(), 0U);
  REQUIRE(taken == all);
  if (!wide) REQUIRE(run.age_max <= lane.settings.lookahead_windows_max);
  if (lane.settings.strategy == Strategy::kSequential) REQUIRE(run.carried_max == 0);
}

Closing close(const PackSettings& settings, const Lengths& lengths, bool at_end) {
  Planner planner(settings.capacity);
  std::vector<Candidate> candidates;
  for (const auto length : lengths) candidates.push_back({length, 0});
  return close_window(settings, planner, candidates, at_end);
}

PackSettings small(std::uint32_t capacity, std::uint32_t packs, std::uint32_t ahead,
                   std::uint32_t windows_max) {
  PackSettings s;
  s.capacity = capacity;
  s.packs_per_window = packs;
  s.lookahead_packs = ahead;
  s.lookahead_windows_max = windows_max;
  return s;
}

}  // namespace

// L2. Every window has exactly packs_per_window packs (each lane's last window aside), always a
// multiple of dp_size_multiple. L4. Nothing is lost silently.
TEST_CASE("Closing: exact windows, every sample once, no sample older than the limit") {
  for (std::uint64_t seed = 0; seed < 6000; ++seed) check_lane(seed, false);
}

TEST_CASE("Closing: exact windows and every sample once with a look-ahead of many windows") {
  for (std::uint64_t seed = 6000; seed < 8000; ++seed) check_lane(seed, true);
}

// L1. How far the reading side happened to read ahead is not part of the job.
TEST_CASE("Closing: samples read beyond what is wanted change nothing") {
  for (std::uint64_t seed = 8000; seed < 8500; ++seed) {
    CAPTURE(seed);
    const RandomLane lane = random_lane(seed, false);
    const LaneRun one = run_lane(lane.settings, lane.lengths);
    const LaneRun other = run_lane(lane.settings, lane.lengths, 1 + seed % 90);
    REQUIRE(one.windows.size() == other.windows.size());
    for (std::size_t w = 0; w < one.windows.size(); ++w) {
      REQUIRE(one.windows[w].samples == other.windows[w].samples);
      REQUIRE(one.windows[w].closing.packs == other.windows[w].closing.packs);
      REQUIRE(one.windows[w].closing.considered == other.windows[w].closing.considered);
    }
  }
}

TEST_CASE("Closing: the fullest bins are taken, the others wait") {
  // {9 1} {8} {7}: two of three.
  const Closing closing = close(small(10, 2, 1, 2), {7, 8, 9, 1, 10}, false);
  CHECK(closing.packs == 2);
  CHECK(closing.considered == 4);
  CHECK(closing.taken == Lengths{1, 2, 3});
}

TEST_CASE("Closing: a sample that has waited long enough goes before fuller bins") {
  Planner planner(10);
  const std::vector<Candidate> candidates{{7, 2}, {8, 1}, {9, 0}, {1, 0}, {10, 0}};
  const Closing closing = close_window(small(10, 2, 1, 2), planner, candidates, false);
  CHECK(closing.considered == 4);
  CHECK(closing.taken == Lengths{0, 2, 3});
}

TEST_CASE("Closing: of equally full bins the one with more samples, then the first one is taken") {
  CHECK(close(small(10, 1, 2, 2), {10, 7, 3, 9, 9}, false).taken == Lengths{1, 2});
  CHECK(close(small(10, 1, 1, 2), {6, 6, 9, 9}, false).taken == Lengths{0});
  CHECK(close(small(10, 1, 1, 2), {6, 7, 3, 4, 1}, false).taken == Lengths{1, 2});
}

TEST_CASE("Closing: more old bins than packs: the first samples are taken without look-ahead") {
  Planner planner(10);
  const std::vector<Candidate> candidates{{6, 2}, {7, 2}, {8, 2}, {9, 0}, {9, 0}, {9, 0}};
  const Closing closing = close_window(small(10, 2, 2, 2), planner, candidates, false);
  CHECK(closing.packs == 2);
  CHECK(closing.considered == 2);
  CHECK(closing.taken == Lengths{0, 1});
}

TEST_CASE("Closing: with a limit of 0 windows nothing waits") {
  const RandomLane lane = random_lane(1, false);
  PackSettings settings = lane.settings;
  settings.strategy = Strategy::kBestFitDecreasing;
  settings.lookahead_windows_max = 0;
  CHECK(run_lane(settings, lane.lengths).carried_max == 0);
}

TEST_CASE("Closing: a lane's last window is a multiple of the ranks") {
  PackSettings settings = small(10, 8, 2, 2);
  settings.dp_size_multiple = 4;
  CHECK(close(settings, {}, true).packs == 0);
  CHECK(close(settings, {3}, true).packs == 4);
  CHECK(close(settings, Lengths(4, 10), true).packs == 4);
  CHECK(close(settings, Lengths(5, 10), true).packs == 8);
  CHECK(close(settings, Lengths(8, 10), true).taken.size() == 8);
  const Closing nine = close(settings, Lengths(9, 10), true);  // one waits for the window after
  CHECK(nine.packs == 8);
  CHECK(nine.considered == 9);
  CHECK(nine.taken.size() == 8);
}

TEST_CASE("Closing: sequential takes whole bins in order and never waits") {
  PackSettings settings = small(10, 2, 32, 2);
  settings.strategy = Strategy::kSequential;
  CHECK(tokens_wanted(settings) == 20);
  const Closing closing = close(settings, {4, 4, 4, 5, 9, 1}, false);
  CHECK(closing.packs == 2);
  CHECK(closing.considered == 4);
  CHECK(closing.taken == Lengths{0, 1, 2, 3});
  settings.dp_size_multiple = 2;
  CHECK(close(settings, {4, 4}, true).packs == 2);
  CHECK(close(settings, {}, true).packs == 0);
  CHECK(close(settings, {9, 9}, true).taken.size() == 2);
}

TEST_CASE("Closing: a window wants the tokens of its packs and its look-ahead") {
  CHECK(tokens_wanted(small(8192, 256, 32, 2)) == 288ULL * 8192);
  CHECK(tokens_wanted(small(1U << 20, 1U << 20, 1U << 20, 2)) == 1ULL << 41);
}

TEST_CASE("Closing: the look-ahead ends after so many samples beyond the window's tokens") {
  PackSettings settings = small(10, 1, 8, 2);
  settings.lookahead_samples_max = 1;
  const std::vector<Candidate> candidates{{6, 0}, {6, 0}, {4, 0}, {4, 0}};
  CHECK(wants_more(settings, std::span(candidates).first(2)));
  CHECK(!wants_more(settings, std::span(candidates).first(3)));
  const Closing closing = close(settings, {6, 6, 4, 4}, false);
  CHECK(closing.considered == 3);
  CHECK(closing.taken == Lengths{1, 2});  // the second 4 is not looked at
}

TEST_CASE("Closing: all samples as long as the capacity, or a token more than half of it") {
  for (const std::uint32_t length : {64U, 33U}) {
    const LaneRun run = run_lane(small(64, 8, 4, 2), Lengths(50, length));
    CHECK(run.packs == 50);
    CHECK(run.windows.size() == 7);
    CHECK(run.windows.back().closing.packs == 2);
  }
}

}  // namespace packline::test

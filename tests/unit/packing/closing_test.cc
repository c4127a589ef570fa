#include "lib/packing/closing.h"

#include <doctest/doctest.h>

#include "tests/unit/packing/closings.h"
#include "tests/unit/packing/random_lane.h"

namespace packline::test {

TEST_CASE("Closing: the fullest bins are taken, the others wait") {
  // {9 1} {8} {7}: two of three.
  const Closing closing = close(small(10, 2, 1, 2), {7, 8, 9, 1, 10}, false);
  CHECK(closing.packs.size() == 2);
  CHECK(closing.considered == 4);
  CHECK(taken_by(closing) == Lengths{1, 2, 3});
  CHECK(sorted(packs_of(closing)) == Bins{{1}, {2, 3}});
}

TEST_CASE("Closing: a sample that has waited long enough goes before fuller bins") {
  const Closing closing =
      close_candidates(small(10, 2, 1, 2), {{7, 2}, {8, 1}, {9, 0}, {1, 0}, {10, 0}}, false);
  CHECK(closing.considered == 4);
  CHECK(taken_by(closing) == Lengths{0, 2, 3});
}

TEST_CASE("Closing: of equally full bins the one with more samples, then the first one is taken") {
  CHECK(taken_by(close(small(10, 1, 2, 2), {10, 7, 3, 9, 9}, false)) == Lengths{1, 2});
  CHECK(taken_by(close(small(10, 1, 1, 2), {6, 6, 9, 9}, false)) == Lengths{0});
  CHECK(taken_by(close(small(10, 1, 1, 2), {6, 7, 3, 4, 1}, false)) == Lengths{1, 2});
}

TEST_CASE("Closing: more old bins than packs: the first samples are taken without look-ahead") {
  const Closing closing =
      close_candidates(small(10, 2, 2, 2), {{6, 2}, {7, 2}, {8, 2}, {9, 0}, {9, 0}, {9, 0}}, false);
  CHECK(closing.packs.size() == 2);
  CHECK(closing.considered == 2);
  CHECK(taken_by(closing) == Lengths{0, 1});
}

TEST_CASE("Closing: with a limit of 0 windows nothing waits") {
  RandomLane lane = random_lane(1, Strategy::kBestFitDecreasing, false);
  lane.settings.lookahead_windows_max = 0;
  CHECK(run_lane(lane.settings, lane.samples).carried_max == 0);
}

TEST_CASE("Closing: a lane's last window is a multiple of the ranks") {
  PackSettings settings = small(10, 8, 2, 2);
  settings.dp_size_multiple = 4;
  CHECK(close(settings, {}, true).packs.empty());
  CHECK(close(settings, {}, true).last);
  CHECK(close(settings, {3}, true).packs.size() == 4);
  CHECK(close(settings, Lengths(4, 10), true).packs.size() == 4);
  CHECK(close(settings, Lengths(5, 10), true).packs.size() == 8);
  CHECK(taken_by(close(settings, Lengths(8, 10), true)).size() == 8);
  const Closing nine = close(settings, Lengths(9, 10), true);  // one waits for the window after
  CHECK(nine.packs.size() == 8);
  CHECK(nine.considered == 9);
  CHECK(!nine.last);
  CHECK(taken_by(nine).size() == 8);
}

// L3. Every rank gets the same number of packs.
TEST_CASE("Closing: few samples on many ranks") {
  PackSettings settings = small(64, 8, 2, 2);
  settings.dp_size_multiple = 8;
  const Closing one = close(settings, {5}, true);
  CHECK(one.packs.size() == 8);  // seven of them empty
  CHECK(one.placed == std::vector<Placed>{{0, 0, 5, 0}});
  settings.dp_size_multiple = 4;
  const Closing nine = close(settings, Lengths(9, 7), true);
  CHECK(nine.packs.size() == 4);
  CHECK(std::ranges::count(nine.packs, 0U) == 0);
  CHECK(taken_by(nine).size() == 9);
}

TEST_CASE("Closing: sequential takes whole bins in order and never waits") {
  PackSettings settings = small(10, 2, 32, 2);
  settings.strategy = Strategy::kSequential;
  CHECK(tokens_wanted(settings) == 20);
  const Closing closing = close(settings, {4, 4, 4, 5, 9, 1}, false);
  CHECK(closing.considered == 4);
  CHECK(!closing.last);
  CHECK(bins_in(closing) == Bins{{0, 1}, {2, 3}});
  CHECK(bins_in(close(settings, {9, 9}, true)) == Bins{{0}, {1}});
  CHECK(close(settings, {}, true).packs.empty());
  settings.packs_per_window = 4;
  CHECK(bins_in(close(settings, {4, 4, 4, 1, 10, 1}, true)) == Bins{{0, 1}, {2, 3}, {4}, {5}});
}

TEST_CASE("Closing: spread fills exactly the window's packs evenly with as many as go") {
  PackSettings settings = small(10, 3, 9, 2);
  settings.strategy = Strategy::kSpread;
  CHECK(tokens_wanted(settings) == 30);
  // Over three bins: {7} {5 4} {5 4}; the sixth, 6, would fit nowhere.
  const Closing closing = close(settings, {7, 5, 4, 5, 4, 6}, false);
  CHECK(closing.considered == 5);
  CHECK(sorted(packs_of(closing)) == Bins{{0}, {1, 2}, {3, 4}});
  // Four samples fit one bin, but at the lane's end only: else all bins are filled.
  CHECK(sorted(packs_of(close(settings, {1, 2, 3, 4}, true))) == Bins{{0, 1, 2, 3}});
}

TEST_CASE("Closing: samples that spread over a window but not by best fit are its last window") {
  PackSettings settings = small(10, 2, 0, 2);
  settings.strategy = Strategy::kSpread;
  const Lengths lengths{5, 4, 4, 3, 2, 2};  // best fit: {5 4} {4 3 2} {2}; spread: {5 3 2} {4 4 2}
  REQUIRE(Planner(settings).count_bins(lengths, 9) == 3);
  const Closing closing = close(settings, lengths, true);
  CHECK(closing.last);
  CHECK(sorted(packs_of(closing)) == Bins{{0, 3, 4}, {1, 2, 5}});
}

TEST_CASE("Closing: samples are placed by their rounded sizes, and delivered as they are") {
  PackSettings settings = small(16, 1, 0, 2);
  settings.sample_multiple_of = 8;
  CHECK(size_of(settings, {1}) == 8);
  CHECK(size_of(settings, {8}) == 8);
  CHECK(size_of(settings, {9}) == 16);
  const Closing closing = close(settings, {1, 1, 1, 1}, false);  // 8 + 8 fill a pack
  CHECK(closing.placed == std::vector<Placed>{{0, 0, 1, 0}, {1, 0, 1, 0}});
}

TEST_CASE("Closing: with max_samples fewer samples are looked at, and a pack takes no more") {
  PackSettings settings = small(100, 2, 0, 2);
  settings.max_samples = 2;
  const std::vector<Candidate> candidates(5, Candidate{1});
  CHECK(wants_more(settings, std::span(candidates).first(4)));
  CHECK(!wants_more(settings, candidates));
  const Closing closing = close_candidates(settings, candidates, false);
  CHECK(closing.packs == Lengths{2, 2});
  CHECK(closing.considered == 4);
}

TEST_CASE("Closing: a window wants the tokens of its packs and its look-ahead") {
  CHECK(tokens_wanted(small(8192, 256, 32, 2)) == 288ULL * 8192);
  CHECK(tokens_wanted(small(1U << 20, 1U << 20, 1U << 20, 2)) == 1ULL << 41);
}

TEST_CASE("Closing: the look-ahead ends after so many samples beyond the window's tokens") {
  PackSettings settings = small(10, 1, 8, 2);
  settings.lookahead_samples_max = 1;
  const std::vector<Candidate> candidates{{6}, {6}, {4}, {4}};
  CHECK(wants_more(settings, std::span(candidates).first(2)));
  CHECK(!wants_more(settings, std::span(candidates).first(3)));
  const Closing closing = close(settings, {6, 6, 4, 4}, false);
  CHECK(closing.considered == 3);
  CHECK(taken_by(closing) == Lengths{1, 2});  // the second 4 is not looked at
}

TEST_CASE("Closing: asking after each sample that comes gives what asking anew gives") {
  Rng rng(41);
  std::uint32_t answers = 0;
  for (int i = 0; i < 300; ++i) {
    PackSettings settings = small(1 + static_cast<std::uint32_t>(rng.below(40)),
                                  1 + static_cast<std::uint32_t>(rng.below(6)),
                                  static_cast<std::uint32_t>(rng.below(6)), 8);
    settings.lookahead_samples_max = static_cast<std::uint32_t>(rng.below(20));
    settings.max_samples = static_cast<std::uint32_t>(rng.below(4));
    settings.strategy = rng.below(2) == 0 ? Strategy::kBestFitDecreasing : Strategy::kSpread;
    std::vector<Candidate> candidates;
    Reach reach;
    for (bool more = true; more;) {
      more = wants_more(settings, candidates, reach);
      CHECK(more == wants_more(settings, candidates));
      CHECK(reach.seen == candidates.size());
      candidates.push_back({1 + static_cast<std::uint32_t>(rng.below(settings.capacity))});
      answers += more ? 1 : 0;
    }
    const Reach known = reach;  // what follows is of no matter
    CHECK(!wants_more(settings, candidates, reach));
    CHECK(reach.seen == known.seen);
  }
  CHECK(answers > 1000);
}

TEST_CASE("Closing: all samples as long as the capacity, or a token more than half of it") {
  for (const std::uint32_t length : {64U, 33U}) {
    const LaneRun run = run_lane(small(64, 8, 4, 2), lane_of(Lengths(50, length)));
    CHECK(run.packs == 50);
    CHECK(run.windows.size() == 7);
    CHECK(run.windows.back().closing.packs.size() == 2);
  }
}

}  // namespace packline::test

#include "lib/packing/planner.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/base/random.h"
#include "tests/unit/packing/plain_plans.h"

namespace packline::test {
namespace {

// Counts and plans, in any order, are those of the plain rule.
void check_like_plain(const Lengths& lengths, BinLimit limit, Strategy strategy) {
  const Bins expected = plan_simply(lengths, limit, strategy);
  Planner planner(limit, strategy);
  const auto bins = static_cast<std::uint32_t>(expected.size());
  REQUIRE(planner.count_bins(lengths, bins / 2) == std::min(bins, bins / 2 + 1));
  REQUIRE(bins_of(planner.plan(lengths)) == expected);
  REQUIRE(planner.count_bins(lengths, bins) == bins);
  REQUIRE(bins_of(planner.plan(lengths)) == expected);  // its memory is clean again
}

std::uint32_t some_capacity(Rng& rng, std::uint32_t turn) {
  return turn < 900    ? 1 + turn / 3
         : turn < 1200 ? 4097 + static_cast<std::uint32_t>(rng.below(9000))
         : turn < 1350 ? 100000
                       : 262144 + static_cast<std::uint32_t>(rng.below(9));
}

}  // namespace

TEST_CASE("Planner: a sample goes to the bin with the least room that takes it") {
  // 7 and 6 open bins with 3 and 4 free; 4 opens none but fills the second; 3 fills the first.
  CHECK(best_fit(10, {3, 6, 4, 7}) == Bins{{0, 3}, {1, 2}});
}

TEST_CASE("Planner: of bins with equal room the one that came to it last is taken") {
  CHECK(best_fit(10, {7, 7, 7, 3}) == Bins{{0}, {1}, {2, 3}});
  // 13 brings the second bin (16) to 1 free, then 11 the first one (18).
  CHECK(best_fit(30, {18, 16, 13, 11, 1}) == Bins{{0, 3, 4}, {1, 2}});
}

TEST_CASE("Planner: a sample that fits nowhere opens a bin") {
  Planner planner(BinLimit{10});
  CHECK(bins_of(planner.plan(Lengths{6, 6, 6})) == Bins{{0}, {1}, {2}});
  CHECK(bins_of(planner.plan(Lengths{})).empty());
  CHECK(planner.count_bins(Lengths{}, 0) == 0);
  CHECK(bins_of(planner.plan(Lengths{1})) == Bins{{0}});
}

TEST_CASE("Planner: first fit takes the bin opened first, not the one with the least room") {
  Planner planner({10, 0}, Strategy::kFirstFitDecreasing);
  // 6 and 7 open bins with 3 (the 7) and 4 free; 3 fits both, 1 then only the second.
  CHECK(bins_of(planner.plan(Lengths{6, 7, 3})) == Bins{{1, 2}, {0}});
  CHECK(bins_of(planner.plan(Lengths{5, 8, 2, 2, 1})) == Bins{{1, 2}, {0, 3, 4}});
  CHECK(best_fit(10, {5, 6, 3, 1}) == Bins{{1, 2, 3}, {0}});
  CHECK(bins_of(planner.plan(Lengths{})).empty());
}

TEST_CASE("Planner: a bin with max_samples has room for nothing") {
  Planner best(BinLimit{10, 2});
  CHECK(bins_of(best.plan(Lengths{1, 1, 1, 1, 1})) == Bins{{0, 1}, {2, 3}, {4}});
  CHECK(best.count_bins(Lengths{1, 1, 1, 1, 1}, 9) == 3);
  CHECK(best.count_bins(Lengths{1, 1, 1, 1, 1}, 1) == 2);
  Planner first({10, 2}, Strategy::kFirstFitDecreasing);
  CHECK(bins_of(first.plan(Lengths{5, 4, 1, 1, 6})) == Bins{{1, 4}, {0, 2}, {3}});
  Planner one(BinLimit{10, 1});
  CHECK(bins_of(one.plan(Lengths{2, 3, 4})) == Bins{{2}, {1}, {0}});
}

TEST_CASE("Planner: the job's settings say how it plans") {
  PackSettings settings;
  settings.capacity = 10;
  settings.strategy = Strategy::kFirstFitDecreasing;
  const Lengths lengths{6, 7, 3, 4};
  CHECK(bins_of(Planner(settings).plan(lengths)) ==
        plan_simply(lengths, {10, 0}, Strategy::kFirstFitDecreasing));
  settings.strategy = Strategy::kSpread;  // by best fit
  settings.max_samples = 1;
  CHECK(bins_of(Planner(settings).plan(lengths)) == plan_simply(lengths, {10, 1}));
}

TEST_CASE("Planner: counting stops above the limit, and the planner is as new") {
  for (const Strategy strategy : {Strategy::kBestFitDecreasing, Strategy::kFirstFitDecreasing}) {
    Planner planner({10, 0}, strategy);
    const Lengths lengths{9, 9, 9, 5, 5, 1};
    CHECK(planner.count_bins(lengths, 10) == 4);
    CHECK(planner.count_bins(lengths, 4) == 4);
    CHECK(planner.count_bins(lengths, 3) == 4);
    CHECK(planner.count_bins(lengths, 0) == 1);
    CHECK(planner.count_bins(lengths, 1) == 2);
    CHECK(planner.count_bins(lengths, UINT32_MAX) == 4);
    CHECK(bins_of(planner.plan(lengths)) == plan_simply(lengths, {10, 0}, strategy));
  }
}

TEST_CASE("Planner: best fit places like the plain rule, whatever the capacity") {
  Rng rng(11);
  for (std::uint32_t turn = 0; turn < 1500; ++turn) {
    const std::uint32_t capacity = some_capacity(rng, turn);
    CAPTURE(turn);
    CAPTURE(capacity);
    check_like_plain(random_lengths(rng, rng.below(turn % 50 == 0 ? 800 : 120), capacity),
                     {capacity, 0}, Strategy::kBestFitDecreasing);
  }
}

TEST_CASE("Planner: first fit places like the plain rule, whatever the capacity") {
  Rng rng(12);
  for (std::uint32_t turn = 0; turn < 1500; ++turn) {
    const std::uint32_t capacity = some_capacity(rng, turn);
    CAPTURE(turn);
    CAPTURE(capacity);
    check_like_plain(random_lengths(rng, rng.below(turn % 50 == 0 ? 800 : 120), capacity),
                     {capacity, 0}, Strategy::kFirstFitDecreasing);
  }
}

TEST_CASE("Planner: both fits place like the plain rule with max_samples") {
  Rng rng(13);
  for (std::uint32_t turn = 0; turn < 2000; ++turn) {
    const auto capacity = static_cast<std::uint32_t>(1 + rng.below(turn % 4 == 0 ? 9000 : 300));
    const auto max_samples = static_cast<std::uint32_t>(1 + rng.below(9));
    CAPTURE(turn);
    CAPTURE(capacity);
    CAPTURE(max_samples);
    check_like_plain(random_lengths(rng, rng.below(150), capacity), {capacity, max_samples},
                     turn % 2 == 0 ? Strategy::kBestFitDecreasing : Strategy::kFirstFitDecreasing);
  }
}

TEST_CASE("Planner: lengths that users of other packers lost tokens or rows over") {
  SUBCASE("4, 2, 3, 1 at capacity 4 (5 cut to 4): nothing is cut further") {
    CHECK(best_fit(4, {4, 2, 3, 1}) == Bins{{0}, {2, 3}, {1}});
  }
  SUBCASE("seven samples of 7 at capacity 8: the capacity does not grow") {
    CHECK(Planner(BinLimit{8}).count_bins(Lengths(7, 7), 100) == 7);
  }
  SUBCASE("all samples as long as the capacity, or a token more than half: one a pack") {
    CHECK(Planner(BinLimit{64}).count_bins(Lengths(50, 64), 100) == 50);
    CHECK(Planner(BinLimit{64}).count_bins(Lengths(50, 33), 100) == 50);
    CHECK(Planner(BinLimit{64}).count_bins(Lengths(50, 32), 100) == 25);
  }
  SUBCASE("halves of a capacity that is no power of two") {
    CHECK(Planner(BinLimit{8193}).count_bins(Lengths(3000, 4096), 3000) == 1500);
  }
}

}  // namespace packline::test

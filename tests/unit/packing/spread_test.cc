#include <doctest/doctest.h>

#include <algorithm>

#include "lib/packing/bins.h"
#include "tests/unit/packing/plain_plans.h"

namespace packline::test {
namespace {

Bins next_fit_all(const Lengths& lengths, BinLimit limit, std::uint32_t bins = UINT32_MAX) {
  std::uint32_t taken = 0;
  const Bins made = next_fit(lengths, limit, bins, taken);
  std::size_t placed = 0;
  for (const auto& bin : made) placed += bin.size();
  CHECK(placed == taken);
  CHECK(each_in_one(made, taken));
  return made;
}

// docs/stream.md 5.3, *sequential*, word by word.
Bins cut_simply(const Lengths& lengths, Bins bins, std::uint32_t target) {
  while (bins.size() < target) {
    const Lengths tokens = tokens_of(lengths, bins);
    std::size_t fullest = bins.size();
    for (std::size_t b = 0; b < bins.size(); ++b)
      if (bins[b].size() >= 2 && (fullest == bins.size() || tokens[b] > tokens[fullest]))
        fullest = b;
    if (fullest == bins.size()) {
      bins.emplace_back();
      continue;
    }
    const Lengths bin = bins[fullest];
    std::uint32_t least = UINT32_MAX;
    Bins halves;
    for (std::size_t cut = 1; cut < bin.size(); ++cut) {
      const auto at = bin.begin() + static_cast<std::ptrdiff_t>(cut);
      const Bins two{{bin.begin(), at}, {at, bin.end()}};
      const Lengths each = tokens_of(lengths, two);
      if (std::max(each[0], each[1]) >= least) continue;
      least = std::max(each[0], each[1]);
      halves = two;
    }
    bins[fullest] = halves[0];
    bins.insert(bins.begin() + static_cast<std::ptrdiff_t>(fullest) + 1, halves[1]);
  }
  return bins;
}

}  // namespace

TEST_CASE("next_fit: keeps the order and closes a bin for good") {
  CHECK(next_fit_all({4, 4, 4, 1, 10, 1}, {10, 0}) == Bins{{0, 1}, {2, 3}, {4}, {5}});
  CHECK(next_fit_all({}, {10, 0}).empty());
  CHECK(next_fit_all({1, 1, 1, 1, 1}, {10, 2}) == Bins{{0, 1}, {2, 3}, {4}});
}

TEST_CASE("next_fit: stops before the bin that is one too many") {
  CHECK(next_fit_all({4, 4, 4, 1, 10, 1}, {10, 0}, 2) == Bins{{0, 1}, {2, 3}});
  CHECK(next_fit_all({4, 4, 4, 1, 10, 1}, {10, 0}, 3) == Bins{{0, 1}, {2, 3}, {4}});
  CHECK(next_fit_all({4, 4}, {10, 0}, 1) == Bins{{0, 1}});
}

TEST_CASE("spread_evenly: largest first to the bin with the fewest tokens, or not at all") {
  CHECK(spread_evenly(Lengths{1, 5, 3, 2, 1}, 3, {10, 0}) == Bins{{1}, {2, 4}, {0, 3}});
  CHECK(spread_evenly(Lengths{}, 2, {10, 0}) == Bins{{}, {}});
  CHECK(spread_evenly(Lengths{}, 0, {10, 0}) == Bins{});
  CHECK(!spread_evenly(Lengths{1}, 0, {10, 0}));
  CHECK(!spread_evenly(Lengths{6, 6, 6}, 2, {10, 0}));
  CHECK(!spread_evenly(Lengths{1, 1, 1}, 1, {10, 2}));
  // The 3 fills the second bin's two places, so the last 1 goes to the first, fuller one.
  CHECK(spread_evenly(Lengths{9, 1, 1, 1}, 2, {12, 3}) == Bins{{0}, {1, 2, 3}});
  CHECK(spread_evenly(Lengths{9, 1, 1, 1}, 2, {12, 2}) == Bins{{0, 3}, {1, 2}});
}

TEST_CASE("spread: largest first to the bin with the fewest tokens") {
  const Lengths lengths{1, 5, 3, 2, 1};
  CHECK(spread(lengths, {{0, 1, 2, 3}, {4}}, 3, {10, 0}) == Bins{{1}, {2, 4}, {0, 3}});
  CHECK(spread(lengths, {{0, 1, 2, 3, 4}}, 5, {10, 0}) == Bins{{1}, {2}, {3}, {0}, {4}});
  CHECK(spread({}, {}, 2, {10, 0}) == Bins{{}, {}});
}

TEST_CASE("spread: the fullest bin is halved where the even way does not fit") {
  // Evenly over seven the last 4 would come to 17; best fit needs six.
  const Lengths lengths{5, 8, 4, 7, 6, 4, 9, 4, 4, 8, 7, 5, 9, 6, 9};
  const Bins bins = best_fit(16, lengths);
  REQUIRE(bins == Bins{{4, 6}, {10, 12}, {3, 14}, {1, 9}, {0, 11, 13}, {2, 5, 7, 8}});
  CHECK(spread(lengths, bins, 7, {16, 0}) ==
        Bins{{4, 6}, {12}, {3, 14}, {1, 9}, {0, 11, 13}, {2, 5, 7, 8}, {10}});
}

TEST_CASE("spread: halving goes on with the halves") {
  const Lengths lengths{6, 6, 6, 6, 6};  // two of them do not fit, so the even way is closed
  CHECK(spread(lengths, {{0, 1, 2}, {3, 4}}, 3, {7, 0}) == Bins{{0, 2}, {3, 4}, {1}});
  CHECK(spread(lengths, {{0, 1, 2}, {3, 4}}, 4, {7, 0}) == Bins{{0}, {3, 4}, {1}, {2}});
}

TEST_CASE("spread: exactly the target, nothing lost, no more empty bins than need be") {
  Rng rng(13);
  for (int turn = 0; turn < 2000; ++turn) {
    const auto capacity = static_cast<std::uint32_t>(1 + rng.below(60));
    const BinLimit limit{capacity,
                         static_cast<std::uint32_t>(turn % 3 == 0 ? 1 + rng.below(5) : 0)};
    const Lengths lengths = random_lengths(rng, rng.below(60), capacity);
    const Bins bins = plan_simply(lengths, limit);
    const auto target = static_cast<std::uint32_t>(bins.size() + rng.below(40));
    const Bins wide = spread(lengths, bins, target, limit);
    REQUIRE(wide.size() == target);
    REQUIRE(each_in_one(wide, lengths.size()));
    const auto tokens = tokens_of(lengths, wide);
    for (std::size_t b = 0; b < target; ++b) REQUIRE(limit.takes(tokens[b], wide[b].size()));
    const auto empty = static_cast<std::size_t>(std::count(tokens.begin(), tokens.end(), 0U));
    REQUIRE(empty == target - std::min<std::size_t>(target, lengths.size()));
    if (target == bins.size()) REQUIRE(wide == bins);
  }
}

TEST_CASE("spread_in_order: the fullest bin is cut where its larger part is smallest") {
  const Lengths lengths{1, 2, 3, 4, 5};
  CHECK(spread_in_order(lengths, {{0, 1, 2}, {3, 4}}, 2) == Bins{{0, 1, 2}, {3, 4}});
  CHECK(spread_in_order(lengths, {{0, 1, 2}, {3, 4}}, 3) == Bins{{0, 1, 2}, {3}, {4}});
  CHECK(spread_in_order(lengths, {{0, 1, 2}, {3, 4}}, 4) == Bins{{0, 1}, {2}, {3}, {4}});
  // 3 | 3 before 3 | 3: the first cut of equals; of equal bins the first.
  CHECK(spread_in_order(Lengths{2, 1, 2, 2, 1, 2}, {{0, 1, 2}, {3, 4, 5}}, 3) ==
        Bins{{0}, {1, 2}, {3, 4, 5}});
}

TEST_CASE("spread_in_order: what cannot be cut is followed by empty bins") {
  CHECK(spread_in_order(Lengths{9, 1}, {{0}, {1}}, 4) == Bins{{0}, {1}, {}, {}});
  CHECK(spread_in_order(Lengths{9, 1}, {{0, 1}}, 3) == Bins{{0}, {1}, {}});
  CHECK(spread_in_order({}, {}, 2) == Bins{{}, {}});
}

TEST_CASE("spread_in_order: cuts like the plain rule") {
  Rng rng(14);
  for (int turn = 0; turn < 2000; ++turn) {
    const auto capacity = static_cast<std::uint32_t>(1 + rng.below(60));
    const Lengths lengths = random_lengths(rng, rng.below(60), capacity);
    const Bins bins = next_fit_all(lengths, {capacity, 0});
    const auto target = static_cast<std::uint32_t>(bins.size() + rng.below(40));
    REQUIRE(spread_in_order(lengths, bins, target) == cut_simply(lengths, bins, target));
  }
}

}  // namespace packline::test

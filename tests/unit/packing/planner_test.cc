#include "lib/packing/planner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "lib/base/random.h"

namespace packline {
namespace {

using Lengths = std::vector<std::uint32_t>;

// docs/stream.md 5.1 word by word, with one vector of bins and a clock of arrivals.
Bins plan_simply(const Lengths& lengths, std::uint32_t capacity) {
  struct Bin {
    std::uint32_t room;
    std::uint64_t came;
    Lengths samples;
  };
  Lengths order(lengths.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return lengths[a] != lengths[b] ? lengths[a] > lengths[b] : a < b;
  });
  std::vector<Bin> bins;
  std::uint64_t clock = 0;
  for (const std::uint32_t s : order) {
    Bin* best = nullptr;
    for (Bin& bin : bins) {
      if (bin.room < lengths[s]) continue;
      if (best == nullptr || bin.room < best->room ||
          (bin.room == best->room && bin.came > best->came)) {
        best = &bin;
      }
    }
    if (best == nullptr) best = &bins.emplace_back(Bin{capacity, 0, {}});
    best->room -= lengths[s];
    best->came = ++clock;
    best->samples.push_back(s);
  }
  Bins out;
  for (Bin& bin : bins) {
    std::sort(bin.samples.begin(), bin.samples.end());
    out.push_back(std::move(bin.samples));
  }
  return out;
}

Lengths random_lengths(Rng& rng, std::size_t n, std::uint32_t capacity) {
  // Around capacity / d, so that bins hold from one to many samples.
  const auto d = static_cast<std::uint32_t>(1 + rng.below(8));
  const std::uint32_t most = std::max(1U, capacity / d);
  const auto least = static_cast<std::uint32_t>(1 + rng.below(most));
  Lengths lengths(n);
  for (auto& length : lengths) {
    length = static_cast<std::uint32_t>(least + rng.below(most - least + 1));
  }
  return lengths;
}

Bins bins_of(const PackSettings& settings, const Lengths& lengths, std::uint32_t packs) {
  Planner planner(settings.capacity);
  return assign(settings, planner, 0, 0, lengths, packs);
}

Lengths tokens_of(const Lengths& lengths, const Bins& bins) {
  Lengths tokens;
  for (const auto& bin : bins) {
    tokens.push_back(std::accumulate(bin.begin(), bin.end(), 0U,
                                     [&](auto sum, auto s) { return sum + lengths[s]; }));
  }
  return tokens;
}

void check_each_once(const Bins& bins, std::size_t n) {
  Lengths seen;
  for (const auto& bin : bins) {
    CHECK(std::is_sorted(bin.begin(), bin.end()));
    seen.insert(seen.end(), bin.begin(), bin.end());
  }
  std::sort(seen.begin(), seen.end());
  Lengths all(n);
  std::iota(all.begin(), all.end(), 0U);
  CHECK(seen == all);
}

}  // namespace

TEST_CASE("RoomSet: finds the least member at or above, over all its levels") {
  for (const std::uint32_t max : {0U, 1U, 63U, 64U, 4095U, 4096U, 262143U, 262144U, 1000000U}) {
    RoomSet set(max);
    CHECK(set.at_least(0) == RoomSet::kNone);
    std::vector<bool> members(max + 1);
    Rng rng(max);
    for (int turn = 0; turn < 300; ++turn) {
      const auto i = static_cast<std::uint32_t>(rng.below(std::uint64_t{max} + 1));
      members[i] = rng.below(3) > 0;
      members[i] ? set.insert(i) : set.erase(i);
      const auto from = static_cast<std::uint32_t>(rng.below(std::uint64_t{max} + 1));
      const auto at = std::find(members.begin() + from, members.end(), true);
      const auto expected =
          at == members.end() ? RoomSet::kNone : static_cast<std::uint32_t>(at - members.begin());
      REQUIRE(set.at_least(from) == expected);
    }
  }
}

TEST_CASE("Planner: a sample goes to the bin with the least room that takes it") {
  Planner planner(10);
  // 7 and 6 open bins with 3 and 4 free; 4 opens none but fills the second; 3 fills the first.
  CHECK(planner.best_fit_decreasing(Lengths{3, 6, 4, 7}) == Bins{{0, 3}, {1, 2}});
}

TEST_CASE("Planner: of bins with equal room the one that came to it last is taken") {
  Planner planner(10);
  CHECK(planner.best_fit_decreasing(Lengths{7, 7, 7, 3}) == Bins{{0}, {1}, {2, 3}});
  // 13 brings the second bin (16) to 1 free, then 11 the first one (18).
  CHECK(Planner(30).best_fit_decreasing(Lengths{18, 16, 13, 11, 1}) == Bins{{0, 3, 4}, {1, 2}});
}

TEST_CASE("Planner: a sample that fits nowhere opens a bin") {
  Planner planner(10);
  CHECK(planner.best_fit_decreasing(Lengths{6, 6, 6}) == Bins{{0}, {1}, {2}});
  CHECK(planner.best_fit_decreasing(Lengths{}).empty());
  CHECK(planner.count_bins(Lengths{}, 0) == 0);
  CHECK(planner.best_fit_decreasing(Lengths{1}) == Bins{{0}});
}

TEST_CASE("Planner: counting stops above the limit, and the planner is as new") {
  Planner planner(10);
  const Lengths lengths{9, 9, 9, 5, 5, 1};
  CHECK(planner.count_bins(lengths, 10) == 4);
  CHECK(planner.count_bins(lengths, 4) == 4);
  CHECK(planner.count_bins(lengths, 3) == 4);
  CHECK(planner.count_bins(lengths, 0) == 1);
  CHECK(planner.count_bins(lengths, 1) == 2);
  CHECK(planner.count_bins(lengths, UINT32_MAX) == 4);
  CHECK(planner.best_fit_decreasing(lengths) == plan_simply(lengths, 10));
}

TEST_CASE("Planner: places like the plain rule, whatever the capacity") {
  Rng rng(11);
  for (std::uint32_t turn = 0; turn < 1500; ++turn) {
    const std::uint32_t capacity =
        turn < 900    ? 1 + turn / 3
        : turn < 1200 ? 4097 + static_cast<std::uint32_t>(rng.below(9000))
        : turn < 1350 ? 100000
                      : 262144 + static_cast<std::uint32_t>(rng.below(9));
    CAPTURE(turn);
    CAPTURE(capacity);
    const Lengths lengths = random_lengths(rng, rng.below(turn % 50 == 0 ? 800 : 120), capacity);
    const Bins expected = plan_simply(lengths, capacity);
    Planner planner(capacity);
    const auto bins = static_cast<std::uint32_t>(expected.size());
    REQUIRE(planner.count_bins(lengths, bins / 2) == std::min(bins, bins / 2 + 1));
    REQUIRE(planner.best_fit_decreasing(lengths) == expected);
    REQUIRE(planner.count_bins(lengths, bins) == bins);
    REQUIRE(planner.best_fit_decreasing(lengths) == expected);  // its memory is clean again
  }
}

TEST_CASE("Planner: removing whole bins changes no other placement") {
  Rng rng(12);
  for (int turn = 0; turn < 500; ++turn) {
    const auto capacity = static_cast<std::uint32_t>(1 + rng.below(100));
    const Lengths lengths = random_lengths(rng, rng.below(150), capacity);
    Planner planner(capacity);
    const Bins bins = planner.best_fit_decreasing(lengths);
    std::vector<bool> kept(lengths.size());
    Bins kept_bins;
    for (const auto& bin : bins) {
      if (rng.below(2) == 0) continue;
      for (const auto s : bin) kept[s] = true;
      kept_bins.push_back(bin);
    }
    Lengths rest, was;
    for (std::uint32_t s = 0; s < lengths.size(); ++s) {
      if (!kept[s]) continue;
      rest.push_back(lengths[s]);
      was.push_back(s);
    }
    Bins again = planner.best_fit_decreasing(rest);
    for (auto& bin : again) {
      for (auto& s : bin) s = was[s];
    }
    REQUIRE(again == kept_bins);
  }
}

TEST_CASE("Planner: next fit keeps the order and closes a bin for good") {
  const Planner planner(10);
  CHECK(planner.next_fit(Lengths{4, 4, 4, 1, 10, 1}) == Bins{{0, 1}, {2, 3}, {4}, {5}});
  CHECK(planner.next_fit(Lengths{}).empty());
}

TEST_CASE("Planner: lengths that users of other packers lost tokens or rows over") {
  SUBCASE("4, 2, 3, 1 at capacity 4 (5 cut to 4): nothing is cut further") {
    CHECK(Planner(4).best_fit_decreasing(Lengths{4, 2, 3, 1}) == Bins{{0}, {2, 3}, {1}});
  }
  SUBCASE("seven samples of 7 at capacity 8: the capacity does not grow") {
    CHECK(Planner(8).count_bins(Lengths(7, 7), 100) == 7);
  }
  SUBCASE("all samples as long as the capacity, or a token more than half: one a pack") {
    CHECK(Planner(64).count_bins(Lengths(50, 64), 100) == 50);
    CHECK(Planner(64).count_bins(Lengths(50, 33), 100) == 50);
    CHECK(Planner(64).count_bins(Lengths(50, 32), 100) == 25);
  }
  SUBCASE("halves of a capacity that is no power of two") {
    CHECK(Planner(8193).count_bins(Lengths(3000, 4096), 3000) == 1500);
  }
}

TEST_CASE("spread: longest first to the bin with the fewest tokens") {
  const Lengths lengths{1, 5, 3, 2, 1};
  CHECK(spread(lengths, {{0, 1, 2, 3}, {4}}, 3, 10) == Bins{{1}, {2, 4}, {0, 3}});
  CHECK(spread(lengths, {{0, 1, 2, 3, 4}}, 5, 10) == Bins{{1}, {2}, {3}, {0}, {4}});
  CHECK(spread({}, {}, 2, 10) == Bins{{}, {}});
}

TEST_CASE("spread: the fullest bin is halved where the even way does not fit") {
  // Evenly over seven the last 4 would come to 17; best fit needs six.
  const Lengths lengths{5, 8, 4, 7, 6, 4, 9, 4, 4, 8, 7, 5, 9, 6, 9};
  const Bins bins = Planner(16).best_fit_decreasing(lengths);
  REQUIRE(bins == Bins{{4, 6}, {10, 12}, {3, 14}, {1, 9}, {0, 11, 13}, {2, 5, 7, 8}});
  CHECK(spread(lengths, bins, 7, 16) ==
        Bins{{4, 6}, {12}, {3, 14}, {1, 9}, {0, 11, 13}, {2, 5, 7, 8}, {10}});
}

TEST_CASE("spread: halving goes on with the halves") {
  const Lengths lengths{6, 6, 6, 6, 6};  // two of them do not fit, so the even way is closed
  CHECK(spread(lengths, {{0, 1, 2}, {3, 4}}, 3, 7) == Bins{{0, 2}, {3, 4}, {1}});
  CHECK(spread(lengths, {{0, 1, 2}, {3, 4}}, 4, 7) == Bins{{0}, {3, 4}, {1}, {2}});
}

TEST_CASE("spread: exactly the target, nothing lost, no more empty bins than need be") {
  Rng rng(13);
  for (int turn = 0; turn < 2000; ++turn) {
    const auto capacity = static_cast<std::uint32_t>(1 + rng.below(60));
    const Lengths lengths = random_lengths(rng, rng.below(60), capacity);
    Planner planner(capacity);
    const Bins bins = planner.best_fit_decreasing(lengths);
    const auto target = static_cast<std::uint32_t>(bins.size() + rng.below(40));
    const Bins wide = spread(lengths, bins, target, capacity);
    REQUIRE(wide.size() == target);
    check_each_once(wide, lengths.size());
    const auto tokens = tokens_of(lengths, wide);
    CHECK(std::all_of(tokens.begin(), tokens.end(), [&](auto t) { return t <= capacity; }));
    const auto empty = static_cast<std::size_t>(std::count(tokens.begin(), tokens.end(), 0U));
    CHECK(empty == target - std::min<std::size_t>(target, lengths.size()));
  }
}

// L1. The packs of a window are a pure function of the job.
TEST_CASE("assign: the packs depend on seed, epoch and window, not on the planner's past") {
  Rng rng(14);
  PackSettings settings;
  settings.capacity = 100;
  settings.seed = 5;
  const Lengths lengths = random_lengths(rng, 300, 40);
  Planner fresh(100), used(100);
  used.count_bins(random_lengths(rng, 999, 100), 3);
  const auto packs = static_cast<std::uint32_t>(fresh.best_fit_decreasing(lengths).size());
  const Bins one = assign(settings, fresh, 3, 7, lengths, packs);
  CHECK(one == assign(settings, used, 3, 7, lengths, packs));
  CHECK(one != assign(settings, fresh, 4, 7, lengths, packs));
  CHECK(one != assign(settings, fresh, 3, 8, lengths, packs));
  settings.seed = 6;
  CHECK(one != assign(settings, fresh, 3, 7, lengths, packs));
  check_each_once(one, lengths.size());
}

TEST_CASE("assign: the order of packs is the shuffle of docs/stream.md") {
  PackSettings settings;
  settings.capacity = 10;
  settings.seed = 17;
  Planner planner(10);
  const Lengths lengths{9, 8, 7, 6};
  Bins expected{{0}, {1}, {2}, {3}};
  Rng rng(derive(17, {4, 2, 31}));
  for (std::uint64_t i = 4; i >= 2; --i) std::swap(expected[i - 1], expected[rng.below(i)]);
  CHECK(assign(settings, planner, 2, 31, lengths, 4) == expected);
}

// L3. Every rank gets the same number of packs.
TEST_CASE("assign: few samples on many ranks") {
  PackSettings settings;
  settings.capacity = 64;
  SUBCASE("no sample, no pack") { CHECK(bins_of(settings, {}, 0).empty()); }
  SUBCASE("one sample, eight ranks: eight packs, seven of them empty") {
    const Bins bins = bins_of(settings, {5}, 8);
    CHECK(bins.size() == 8);
    check_each_once(bins, 1);
  }
  SUBCASE("nine samples, four ranks: no rank gets an empty pack") {
    const Bins bins = bins_of(settings, Lengths(9, 7), 4);
    CHECK(bins.size() == 4);
    CHECK(std::none_of(bins.begin(), bins.end(), [](const auto& b) { return b.empty(); }));
    check_each_once(bins, 9);
  }
}

TEST_CASE("assign: sequential packs stand in the order of the samples") {
  PackSettings settings;
  settings.capacity = 10;
  settings.strategy = Strategy::kSequential;
  CHECK(bins_of(settings, {4, 4, 4, 1, 10, 1}, 4) == Bins{{0, 1}, {2, 3}, {4}, {5}});
}

}  // namespace packline

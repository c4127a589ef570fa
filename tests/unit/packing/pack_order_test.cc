#include "lib/packing/pack_order.h"

#include <doctest/doctest.h>

#include <numeric>

#include "lib/base/random.h"
#include "tests/unit/packing/closings.h"
#include "tests/unit/packing/plain_plans.h"

namespace packline::test {
namespace {

// docs/stream.md section 1, word by word.
template <typename T>
void shuffle_simply(std::vector<T>& c, Rng& rng) {
  for (std::uint64_t i = c.size(); i >= 2; --i) std::swap(c[i - 1], c[rng.below(i)]);
}

std::vector<PackCost> costs(const std::vector<std::uint64_t>& each) {
  std::vector<PackCost> packs;
  for (const auto cost : each) packs.push_back({cost, false});
  return packs;
}

PackSettings ordering(std::uint32_t multiple) {
  PackSettings s;
  s.seed = 17;
  s.dp_size_multiple = multiple;
  return s;
}

// Section 5.4 for bins that are sorted as given.
Lengths groups_simply(const Lengths& order, std::uint32_t multiple, std::uint64_t epoch,
                      std::uint64_t window) {
  Rng rng(derive(17, {4, epoch, window}));
  std::vector<Lengths> groups;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i % multiple == 0) groups.emplace_back();
    groups.back().push_back(order[i]);
  }
  for (auto& group : groups) shuffle_simply(group, rng);
  shuffle_simply(groups, rng);
  Lengths all;
  for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace

TEST_CASE("pack_order: by default the packs are shuffled by seed, epoch and window") {
  Lengths expected(9);
  std::iota(expected.begin(), expected.end(), 0U);
  Rng rng(derive(17, {4, 2, 31}));
  shuffle_simply(expected, rng);
  CHECK(pack_order(ordering(3), 2, 31, costs({5, 1, 4, 2, 3, 9, 8, 7, 6})) == expected);
  CHECK(pack_order(ordering(3), 2, 31, {}).empty());
}

TEST_CASE("pack_order: with alike epochs all have the order of epoch 0") {
  PackSettings s = ordering(3);
  const auto drawn = [&](std::uint64_t epoch) {
    return pack_order(s, epoch, 31, costs({5, 1, 4, 2, 3, 9, 8, 7, 6}));
  };
  const auto first = drawn(0);
  CHECK(drawn(2) != first);
  s.alike_epochs = true;
  CHECK(drawn(0) == first);
  CHECK(drawn(2) == first);
}

TEST_CASE("pack_order: balanced, highest cost first, groups and then groups of them are shuffled") {
  PackSettings s = ordering(2);
  s.balance = Balance::kAttention;
  for (std::uint64_t window = 0; window < 20; ++window) {
    // Of equal costs the pack opened first comes first.
    CHECK(pack_order(s, 1, window, costs({3, 9, 3, 7, 8, 3})) ==
          groups_simply({1, 4, 3, 0, 2, 5}, 2, 1, window));
  }
}

TEST_CASE("pack_order: of one kind, packs with media first, else in the order of opening") {
  PackSettings s = ordering(2);
  s.same_kind = true;
  const std::vector<PackCost> packs{{1, false}, {2, true},  {3, false},
                                    {4, true},  {5, false}, {6, false}};
  CHECK(pack_order(s, 0, 5, packs) == groups_simply({1, 3, 0, 2, 4, 5}, 2, 0, 5));
  s.balance = Balance::kAttention;
  CHECK(pack_order(s, 0, 5, packs) == groups_simply({3, 1, 5, 4, 2, 0}, 2, 0, 5));
}

TEST_CASE("pack_order: sequential and wrapped keep the order") {
  PackSettings s = ordering(1);
  for (const Strategy strategy : {Strategy::kSequential, Strategy::kWrapped}) {
    s.strategy = strategy;
    CHECK(pack_order(s, 0, 1, costs({3, 1, 2, 9, 7})) == Lengths{0, 1, 2, 3, 4});
  }
}

TEST_CASE("cost_of: a sample costs its tokens squared, and so much a token") {
  PackSettings s;
  CHECK(cost_of(s, 100) == 10000);
  s.cost_per_token = 7;
  CHECK(cost_of(s, 100) == 10700);
  s.cost_per_token = UINT32_MAX;
  CHECK(cost_of(s, 1U << 24) == (std::uint64_t{UINT32_MAX} << 24) + (std::uint64_t{1} << 48));
}

// The cost is of the real tokens, whatever the sizes they are placed with.
TEST_CASE("put_in_order: a pack costs what its samples cost, one by one") {
  PackSettings s = ordering(1);
  s.balance = Balance::kAttention;
  s.capacity = 64;
  s.sample_multiple_of = 32;
  const std::vector<Candidate> candidates{{6}, {6}, {9}, {1}};
  Packs packs{{{0, 0, 6, 0}, {1, 0, 6, 0}}, {{2, 0, 9, 0}}, {{3, 0, 1, 0}}, {}};
  const Packs made = packs;
  put_in_order(s, 0, 3, candidates, packs);  // 72, 81, 1, 0
  const Lengths order = groups_simply({1, 0, 2, 3}, 1, 0, 3);
  for (std::size_t k = 0; k < 4; ++k) CHECK(packs[k] == made[order[k]]);
}

// L1. The packs of a window are a pure function of the job.
TEST_CASE("close_window: the packs depend on seed, epoch and window, not on the planner's past") {
  Rng rng(14);
  PackSettings settings = small(100, 300, 0, 2);
  settings.seed = 5;
  std::vector<Candidate> candidates;
  for (const auto length : random_lengths(rng, 300, 40)) candidates.push_back({length});
  Planner used(settings);
  used.count_bins(random_lengths(rng, 999, 100), 3);
  const Bins one = bins_in(close_candidates(settings, candidates, true, 3, 7));
  CHECK(one == bins_in(close_window(settings, used, 3, 7, candidates, true)));
  CHECK(one != bins_in(close_candidates(settings, candidates, true, 4, 7)));
  CHECK(one != bins_in(close_candidates(settings, candidates, true, 3, 8)));
  settings.seed = 6;
  CHECK(one != bins_in(close_candidates(settings, candidates, true, 3, 7)));
}

TEST_CASE("close_window: the packs stand in the order of docs/stream.md") {
  PackSettings settings = small(10, 4, 0, 2);
  settings.seed = 17;
  Bins expected{{0}, {1}, {2}, {3}};
  Rng rng(derive(17, {4, 2, 31}));
  shuffle_simply(expected, rng);
  CHECK(bins_in(close_candidates(settings, {{9}, {8}, {7}, {6}}, true, 2, 31)) == expected);
}

}  // namespace packline::test

#include "lib/packing/advice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "lib/base/random.h"
#include "lib/packing/pack_order.h"

namespace packline {
namespace {

TEST_CASE("StepBalance: the costliest over the mean, step by step") {
  StepBalance balance;
  balance.add(std::vector<std::uint64_t>{4, 4});
  balance.add(std::vector<std::uint64_t>{6, 2});
  CHECK(balance.steps() == 2);
  CHECK(balance.mean() == doctest::Approx(1.25));
  CHECK(balance.worst() == doctest::Approx(1.5));
  CHECK(balance.waiting() == doctest::Approx(1 - 8.0 / 10));
  CHECK(balance.bins()[0] == 1);
  CHECK(balance.bins()[10] == 1);
}

TEST_CASE("StepBalance: packs of no work are alike, and what is far out lies in the last bin") {
  StepBalance balance;
  CHECK(balance.mean() == 1);
  CHECK(balance.waiting() == 0);
  balance.add(std::vector<std::uint64_t>{0, 0});
  CHECK(balance.worst() == 1);
  balance.add(std::vector<std::uint64_t>{9, 0, 0});
  CHECK(balance.worst() == doctest::Approx(3));
  CHECK(balance.bins().back() == 1);
}

TEST_CASE("add_steps: a step is dp_size packs that follow one another") {
  StepBalance balance;
  add_steps(std::vector<std::uint64_t>{1, 1, 3, 1, 2, 2}, 2, balance);
  CHECK(balance.steps() == 3);
  CHECK(balance.worst() == doctest::Approx(1.5));
}

TEST_CASE("balanced_costs: the steps are those of balance: attention") {
  PackSettings settings;
  settings.seed = 5;
  settings.dp_size_multiple = 4;
  Rng rng(77);
  std::vector<std::uint64_t> costs(32);
  for (auto& cost : costs) cost = rng.below(1000);
  const std::vector<bool> media(costs.size());
  const auto balanced = balanced_costs(settings, 2, 7, costs, media);
  auto sorted = costs;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  // Each group of four is four that follow one another in the order of cost.
  for (std::size_t at = 0; at < balanced.size(); at += 4) {
    std::vector<std::uint64_t> group(balanced.begin() + static_cast<std::ptrdiff_t>(at),
                                     balanced.begin() + static_cast<std::ptrdiff_t>(at + 4));
    std::sort(group.begin(), group.end(), std::greater<>());
    const auto found = std::search(sorted.begin(), sorted.end(), group.begin(), group.end());
    CHECK(found != sorted.end());
  }
}

TEST_CASE("with_default_look_ahead: only where the job has less, and never less than the job") {
  PackSettings settings;
  CHECK(!with_default_look_ahead(settings));
  settings.lookahead_packs = 8;
  settings.lookahead_windows_max = 20;
  const auto more = with_default_look_ahead(settings);
  REQUIRE(more);
  CHECK(more->lookahead_packs == settings.packs_per_window);
  CHECK(more->lookahead_windows_max == 20);
  settings.plan = PlanKind::kGlobal;
  CHECK(!with_default_look_ahead(settings));
  settings.plan = PlanKind::kStreaming;
  settings.strategy = Strategy::kSequential;
  CHECK(!with_default_look_ahead(settings));
}

// What close_window() makes of a whole lane at once, as the law of the stream has it.
std::uint64_t packs_of_lane(const PackSettings& settings, std::vector<Candidate> candidates) {
  Planner planner(settings);
  std::uint64_t packs = 0;
  for (;;) {
    const Closing closing = close_window(settings, planner, 0, 0, candidates, true);
    packs += closing.packs.size();
    if (closing.last) return packs;
    std::vector<bool> gone(candidates.size());
    for (const Placed& p : closing.placed) gone[p.candidate] = true;
    std::vector<Candidate> rest;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (gone[i]) continue;
      rest.push_back(candidates[i]);
      if (i < closing.considered || candidates[i].age > 0) ++rest.back().age;
    }
    candidates = std::move(rest);
  }
}

TEST_CASE("LengthTrial: packs lanes as they would be packed, however they come in") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Rng rng(derive(31, {seed}));
    PackSettings settings;
    settings.capacity = static_cast<std::uint32_t>(16 + rng.below(100));
    settings.packs_per_window = 4;
    settings.lookahead_packs = static_cast<std::uint32_t>(rng.below(5));
    settings.dp_size_multiple = 2;
    settings.same_kind = rng.below(3) == 0;
    LengthTrial trial(settings, 2);
    std::uint64_t expected = 0, tokens = 0;
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      std::vector<LengthTrial::Sample> samples(rng.below(200));
      std::vector<Candidate> candidates;
      for (auto& s : samples) {
        s = {static_cast<std::uint32_t>(1 + rng.below(settings.capacity)), rng.below(4) == 0};
        candidates.push_back({s.tokens, 0, 0, s.media});
        tokens += s.tokens;
      }
      std::span<const LengthTrial::Sample> left(samples);
      while (!left.empty()) {
        const std::size_t some = std::min<std::size_t>(left.size(), 1 + rng.below(40));
        trial.add(lane, left.first(some), false);
        left = left.subspan(some);
      }
      trial.add(lane, {}, true);
      expected += packs_of_lane(settings, candidates);
    }
    CHECK(trial.packs() == expected);
    if (!settings.same_kind) CHECK(trial.tokens() == tokens);  // else some may be repeated
  }
}

TEST_CASE("too_few_packs: speaks when no optimizer step comes together") {
  CHECK(too_few_packs(32, 8, 4).empty());
  CHECK(too_few_packs(31, 8, 4).find("31 packs are fewer than an optimizer step takes, 32") !=
        std::string::npos);
  CHECK(too_few_packs(0, 1, 1).find("not one pack") != std::string::npos);
  CHECK(too_few_packs(UINT32_MAX, UINT32_MAX, 2) != "");  // the product is no 32-bit one
}

}  // namespace
}  // namespace packline

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "lib/base/random.h"
#include "tests/unit/packing/lane.h"

namespace packline::test {

struct RandomLane {
  PackSettings settings;
  Lane samples;
};

class LaneDice {
 public:
  explicit LaneDice(std::uint64_t seed) : rng_(mix64(seed)) {}

  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(rng_.below(n)); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::uint64_t bits() { return rng_.next(); }

 private:
  Rng rng_;
};

// What a job may say about packing; see lib/config/packing_rules.cc for what goes with what.
inline PackSettings random_settings(LaneDice& dice, Strategy strategy, bool wide) {
  PackSettings s;
  s.strategy = strategy;
  s.seed = dice.bits();
  const bool plain = dice.one_in(3);  // capacity, windows and look-ahead alone
  s.sample_multiple_of =
      plain || dice.one_in(2) || strategy == Strategy::kWrapped ? 1 : 1 + dice.below(8);
  s.capacity = s.sample_multiple_of * (1 + dice.below(200 / s.sample_multiple_of));
  s.dp_size_multiple = 1 + dice.below(4);
  s.packs_per_window = s.dp_size_multiple * (1 + dice.below(6));
  s.lookahead_packs = wide ? dice.below(60) : dice.below(s.packs_per_window + 1);
  s.lookahead_samples_max = dice.one_in(3) ? dice.below(30) : 1000;
  s.lookahead_windows_max = dice.below(4);
  s.remainder = static_cast<Remainder>(dice.below(3));
  if (plain) return s;
  if (strategy != Strategy::kWrapped && dice.one_in(2)) s.max_samples = 1 + dice.below(8);
  if (keeps_order(strategy)) return s;
  if (dice.one_in(2)) {
    s.balance = Balance::kAttention;
    s.cost_per_token = dice.below(3) * dice.below(1000);
  }
  s.same_kind = dice.one_in(2);
  return s;
}

// A small lane of any shape: short, long, around a half or a third of the capacity; look-ahead of
// at most a window unless `wide`.
inline RandomLane random_lane(std::uint64_t seed, Strategy strategy, bool wide) {
  LaneDice dice(seed);
  RandomLane lane{random_settings(dice, strategy, wide), {}};
  const std::uint32_t c = lane.settings.capacity;
  const std::pair<std::uint32_t, std::uint32_t> ranges[] = {
      {1, c},         {1, c / 8}, {c / 4, c}, {c / 5, c / 2 + 1},
      {c / 6, c / 3}, {c / 3, c}, {c, c},     {c / 2 + 1, c / 2 + 1}};
  auto [least, most] = ranges[dice.below(8)];
  least = std::clamp(least, 1U, c);
  most = std::clamp(most, least, c);
  if (strategy == Strategy::kWrapped && dice.one_in(3)) most = 5 * c;
  // none, few, half, most, all; where kinds come in runs, a run is of `run` samples
  const std::uint32_t media_of_8 = dice.below(5) * 2;
  const std::uint32_t run = dice.one_in(2) ? 1 : 1 + dice.below(60);
  lane.samples.resize(dice.one_in(10) ? dice.below(3) : dice.below(400));
  bool media = false;
  for (std::uint32_t i = 0; i < lane.samples.size(); ++i) {
    if (i % run == 0) media = dice.below(8) < media_of_8;
    lane.samples[i] = {least + dice.below(most - least + 1), media};
  }
  return lane;
}

}  // namespace packline::test

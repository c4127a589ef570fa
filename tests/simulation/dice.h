#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "lib/base/random.h"

namespace packline::simulation {

// All chance of a simulated run: the same seed gives the same run.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : rng_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {  // both may come up
    return low + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  std::uint64_t bits() { return rng_.next(); }
  double unit() { return static_cast<double>(rng_.next() >> 11) * 0x1.0p-53; }
  bool chance(double p) { return p > 0 && unit() < p; }

  template <typename T>
  T of(std::initializer_list<T> choices) {
    return *(choices.begin() + rng_.below(choices.size()));
  }
  template <typename T>
  T& of(std::vector<T>& choices) {
    return choices[rng_.below(choices.size())];
  }
  template <typename T>
  void mix(std::vector<T>& v) {
    shuffle(v, rng_);
  }

 private:
  Rng rng_;
};

}  // namespace packline::simulation

#include "lib/base/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace packline {

TEST_CASE("Rng: is SplitMix64, whose published outputs for seed 1234567 are these") {
  Rng rng(1234567);
  for (const std::uint64_t expected :
       {6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL,
        4593380528125082431ULL, 16408922859458223821ULL}) {
    CHECK(rng.next() == expected);
  }
}

TEST_CASE("derive: folds each part into the seed, in order") {
  static_assert(derive(7, {}) == mix64(7));
  CHECK(derive(7, {1, 2}) == mix64(mix64(mix64(7) ^ 1) ^ 2));
  CHECK(derive(7, {1, 2}) != derive(7, {2, 1}));
  CHECK(derive(7, {1}) != derive(8, {1}));
}

TEST_CASE("Rng: below() is the high half of a 128-bit product") {
  Rng a(3), b(3);
  for (int i = 0; i < 100; ++i) CHECK(a.below(std::uint64_t{1} << 32) == b.next() >> 32);
  Rng ones(9);
  for (int i = 0; i < 100; ++i) CHECK(ones.below(1) == 0);
}

TEST_CASE("Rng: below() meets every value about equally often") {
  Rng rng(5);
  std::array<int, 7> count{};
  for (int i = 0; i < 70000; ++i) ++count[rng.below(7)];
  for (const int c : count) CHECK(std::abs(c - 10000) < 500);
}

TEST_CASE("shuffle: every order comes about equally often, and nothing is lost") {
  Rng rng(6);
  std::array<int, 6> count{};
  for (int i = 0; i < 60000; ++i) {
    std::array<int, 3> c{0, 1, 2};
    shuffle(c, rng);
    REQUIRE(c[0] + c[1] + c[2] == 3);
    ++count[static_cast<std::size_t>(c[0] * 2 + (c[1] > c[2] ? 1 : 0))];
  }
  for (const int c : count) CHECK(std::abs(c - 10000) < 500);
  std::vector<int> none;
  shuffle(none, rng);
  CHECK(none.empty());
}

}  // namespace packline

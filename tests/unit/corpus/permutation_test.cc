#include "lib/corpus/permutation.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "lib/base/random.h"

namespace packline {
namespace {

// docs/stream.md section 2, word by word.
std::uint64_t permute_simply(std::uint64_t n, std::uint64_t key, std::uint64_t i) {
  std::uint64_t k = 1;
  while (k < 32 && (std::uint64_t{1} << (2 * k)) < n) ++k;
  const std::uint64_t mask = (std::uint64_t{1} << k) - 1;
  do {
    std::uint64_t l = i >> k, r = i & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t next = l ^ (mix64(derive(key, {round}) ^ r) & mask);
      l = r;
      r = next;
    }
    i = l << k | r;
  } while (i >= n);
  return i;
}

}  // namespace

TEST_CASE("Permutation: meets every number below n once, for n = 1..2000") {
  for (std::uint64_t n = 1; n <= 2000; ++n) {
    CAPTURE(n);
    const Permutation perm(n, mix64(n));
    std::vector<bool> met(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t v = perm(i);
      REQUIRE(v < n);
      REQUIRE(!met[v]);
      met[v] = true;
    }
  }
}

TEST_CASE("Permutation: meets no number twice in samples of large ranges") {
  for (const std::uint64_t n :
       {std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 1, std::uint64_t{108919656},
        (std::uint64_t{1} << 62) + 12345, UINT64_MAX}) {
    CAPTURE(n);
    const Permutation perm(n, 5);
    std::set<std::uint64_t> met;
    Rng rng(n);
    std::set<std::uint64_t> asked{0, 1, n - 1};
    while (asked.size() < 2000) asked.insert(rng.below(n));
    for (const std::uint64_t i : asked) {
      const std::uint64_t v = perm(i);
      CHECK(v < n);
      CHECK(v == permute_simply(n, 5, i));
      met.insert(v);
    }
    CHECK(met.size() == asked.size());
  }
}

TEST_CASE("Permutation: follows docs/stream.md, and the key matters") {
  for (const std::uint64_t n : {1, 2, 4, 5, 16, 17, 1000}) {
    const Permutation perm(n, 99);
    for (std::uint64_t i = 0; i < n; ++i) REQUIRE(perm(i) == permute_simply(n, 99, i));
  }
  const Permutation one(1000, 1), two(1000, 2);
  int equal = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) equal += one(i) == two(i) ? 1 : 0;
  CHECK(equal < 10);
}

TEST_CASE("Permutation: neighbours do not stay together") {
  const Permutation perm(100000, 3);
  int near = 0;
  for (std::uint64_t i = 1; i < 100000; ++i) {
    const auto step = static_cast<std::int64_t>(perm(i)) - static_cast<std::int64_t>(perm(i - 1));
    near += step >= -50 && step <= 50 ? 1 : 0;
  }
  CHECK(near < 200);  // 100 of 100,000 expected
}

}  // namespace packline

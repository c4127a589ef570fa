#include "lib/delivery/leases.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

using std::chrono::seconds;

Instant at(int s) { return Instant{seconds(s)}; }

TEST_CASE("Leases: a lease runs until its end") {
  Leases l(seconds(5));
  const WindowKey w{1, 0, 3};
  CHECK_FALSE(l.running(w, 2, at(0)));
  CHECK_FALSE(l.start(w, 2, at(0)));
  CHECK(l.running(w, 2, at(4)));
  CHECK_FALSE(l.running(w, 2, at(5)));
  CHECK_FALSE(l.running(w, 3, at(4)));  // another rank's
}

TEST_CASE("Leases: each further try doubles the lease, up to 8 times") {
  Leases l(seconds(1));
  const WindowKey w{0, 0, 0};
  int t = 0;
  for (const int length : {1, 2, 4, 8, 8, 8}) {
    CHECK(l.start(w, 0, at(t)) == (t > 0));
    CHECK(l.running(w, 0, at(t + length) - std::chrono::nanoseconds(1)));
    CHECK_FALSE(l.running(w, 0, at(t + length)));
    t += length;
  }
}

TEST_CASE("Leases: a sink that lives anew got nothing") {
  Leases l(seconds(5));
  l.start({0, 0, 0}, 0, at(0));
  l.start({0, 0, 0}, 1, at(0));
  l.drop_rank(1);
  CHECK(l.running({0, 0, 0}, 0, at(1)));
  CHECK_FALSE(l.running({0, 0, 0}, 1, at(1)));
  CHECK_FALSE(l.start({0, 0, 0}, 1, at(1)));  // a first try again
}

TEST_CASE("Leases: below a floor means the same lane only") {
  Leases l(seconds(5));
  for (const WindowKey k : {WindowKey{0, 0, 9}, {1, 0, 2}, {1, 0, 3}, {1, 1, 0}, {2, 0, 0}})
    l.start(k, 0, at(0));
  l.drop_below({1, 0, 3});
  CHECK(l.running({0, 0, 9}, 0, at(1)));
  CHECK_FALSE(l.running({1, 0, 2}, 0, at(1)));
  CHECK(l.running({1, 0, 3}, 0, at(1)));
  CHECK(l.running({1, 1, 0}, 0, at(1)));
  CHECK(l.running({2, 0, 0}, 0, at(1)));
}

TEST_CASE("Leases: the oldest come first") {
  Leases l(seconds(5));
  l.start({0, 0, 0}, 0, at(3));
  l.start({0, 0, 1}, 0, at(1));
  l.start({0, 0, 2}, 0, at(2));
  const auto all = l.oldest();
  REQUIRE(all.size() == 3);
  CHECK(all[0].key.index == 1);
  CHECK(all[1].key.index == 2);
  CHECK(all[2].key.index == 0);
}

}  // namespace
}  // namespace packline

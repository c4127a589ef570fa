// Section 5.3 of docs/stream.md, window by window.

#include <doctest/doctest.h>

#include "tests/unit/packing/closings.h"

namespace packline::test {
namespace {

PackSettings last_of(Remainder remainder, std::uint32_t multiple,
                     Strategy strategy = Strategy::kBestFitDecreasing) {
  PackSettings s = small(10, 4 * multiple, 2, 2);
  s.dp_size_multiple = multiple;
  s.remainder = remainder;
  s.strategy = strategy;
  return s;
}

std::vector<Placed> whole(const Lengths& candidates, const Lengths& lengths) {
  std::vector<Placed> placed;
  for (const auto c : candidates) placed.push_back({c, 0, lengths[c], 0});
  return placed;
}

}  // namespace

TEST_CASE("Remainder spread: the samples go evenly over the next multiple") {
  const Closing c = close(last_of(Remainder::kSpread, 2), {10, 9, 4, 3}, true);
  CHECK(sorted(packs_of(c)) == Bins{{0}, {1}, {2}, {3}});
  CHECK(c.lost.empty());
}

TEST_CASE("Remainder spread: bins that are a multiple stay as they are") {
  const Closing c = close(last_of(Remainder::kSpread, 2), {4, 3, 9}, true);
  CHECK(sorted(packs_of(c)) == Bins{{0, 1}, {2}});
}

TEST_CASE("Remainder spread: sequential cuts bins where they stand") {
  const Closing c =
      close(last_of(Remainder::kSpread, 2, Strategy::kSequential), {5, 4, 9, 2, 1, 1}, true);
  CHECK(bins_in(c) == Bins{{0}, {1}, {2}, {3, 4, 5}});
}

TEST_CASE("Remainder drop: the least preferred bins are lost, in lane order") {
  const Lengths lengths{2, 10, 9, 3, 8};  // bins 10, 9, 8 2, 3
  const Closing c = close(last_of(Remainder::kDrop, 3), lengths, true);
  CHECK(c.last);
  CHECK(sorted(packs_of(c)) == Bins{{0, 4}, {1}, {2}});
  CHECK(c.lost == whole({3}, lengths));
  CHECK(c.considered == 5);
}

TEST_CASE("Remainder drop: of equally full bins the ones with fewer samples, opened later, go") {
  const Lengths lengths{9, 8, 9, 1};  // bins 9 1, 9, 8
  const Closing c = close(last_of(Remainder::kDrop, 2), lengths, true);
  CHECK(sorted(packs_of(c)) == Bins{{0}, {2, 3}});
  CHECK(c.lost == whole({1}, lengths));
  const Closing equal = close(last_of(Remainder::kDrop, 2), {9, 9, 9}, true);
  CHECK(sorted(packs_of(equal)) == Bins{{0}, {1}});
  CHECK(equal.lost == whole({2}, {9, 9, 9}));
}

TEST_CASE("Remainder drop: with less than a multiple everything is lost") {
  const Lengths lengths{7, 7, 2};
  const Closing c = close(last_of(Remainder::kDrop, 3), lengths, true);
  CHECK(c.last);
  CHECK(c.packs.empty());
  CHECK(c.placed.empty());
  CHECK(c.lost == whole({0, 1, 2}, lengths));
}

TEST_CASE("Remainder drop: sequential loses its last bins") {
  const Lengths lengths{9, 9, 2, 10, 10, 5, 5};
  const Closing c = close(last_of(Remainder::kDrop, 4, Strategy::kSequential), lengths, true);
  CHECK(bins_in(c) == Bins{{0}, {1}, {2}, {3}});
  CHECK(c.lost == whole({4, 5, 6}, lengths));
}

TEST_CASE("Remainder repeat: the first bins come once more, and again where that is not enough") {
  const Lengths lengths{9, 8, 1};
  PackSettings s = last_of(Remainder::kRepeat, 5, Strategy::kSequential);
  const Closing c = close(s, lengths, true);  // {9} {8 1} {9} {8 1} {9}
  CHECK(c.packs == Lengths{1, 2, 1, 2, 1});
  CHECK(c.placed == std::vector<Placed>{{0, 0, 9, 0},
                                        {1, 0, 8, 0},
                                        {2, 0, 1, 0},
                                        {0, 0, 9, 1},
                                        {1, 0, 8, 1},
                                        {2, 0, 1, 1},
                                        {0, 0, 9, 2}});
  s.strategy = Strategy::kBestFitDecreasing;  // {9 1} {8}, shuffled
  const Closing shuffled = close(s, lengths, true);
  CHECK(sorted(packs_of(shuffled)) == Bins{{0, 2}, {0, 2}, {0, 2}, {1}, {1}});
  CHECK(close(s, {}, true).packs.empty());
}

TEST_CASE("Remainder: a window before the last one is none of its business") {
  for (const Remainder r : {Remainder::kSpread, Remainder::kDrop, Remainder::kRepeat}) {
    PackSettings s = last_of(r, 2);
    s.packs_per_window = 2;
    const Closing c = close(s, {9, 9, 9, 9, 9}, false);
    CHECK(c.packs == Lengths{1, 1});
    CHECK(c.lost.empty());
    CHECK(!c.last);
  }
}

}  // namespace packline::test

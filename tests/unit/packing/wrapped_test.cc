#include "lib/packing/wrapped.h"

#include <doctest/doctest.h>

#include "tests/unit/packing/closings.h"

namespace packline::test {
namespace {

PackSettings wrapping(std::uint32_t packs, std::uint32_t multiple = 1,
                      Remainder remainder = Remainder::kSpread) {
  PackSettings s = small(10, packs, 0, 0);
  s.strategy = Strategy::kWrapped;
  s.dp_size_multiple = multiple;
  s.remainder = remainder;
  return s;
}

using Parts = std::vector<Placed>;

}  // namespace

TEST_CASE("Wrapped: the token stream is cut at every capacity, and the window within a sample") {
  const Closing c = close(wrapping(2), {6, 6, 25}, false);
  CHECK(packs_of(c) == Packs{{{0, 0, 6, 0}, {1, 0, 4, 0}}, {{1, 4, 6, 0}, {2, 0, 8, 0}}});
  CHECK(c.considered == 2);
  CHECK(c.cut == 8);
  CHECK(!c.last);
}

TEST_CASE("Wrapped: the next window goes on where the sample was cut, even if it cuts it again") {
  const Closing c = close_candidates(wrapping(1), {{25, 0, 8}, {3}}, false);
  CHECK(packs_of(c) == Packs{{{0, 8, 18, 0}}});
  CHECK(c.considered == 0);
  CHECK(c.cut == 18);
  const Closing next = close_candidates(wrapping(1), {{25, 0, 18}, {3}, {9}}, false);
  CHECK(packs_of(next) == Packs{{{0, 18, 25, 0}, {1, 0, 3, 0}}});
  CHECK(next.considered == 2);  // the window ends with a sample: nothing is cut
  CHECK(next.cut == 0);
}

TEST_CASE("Wrapped: a window wants one token more than it has, of what is not delivered yet") {
  const std::vector<Candidate> candidates{{25, 0, 8}, {3}, {1}};
  CHECK(wants_more(wrapping(2), std::span(candidates).first(2)));
  CHECK(!wants_more(wrapping(2), candidates));
  CHECK(tokens_wanted(wrapping(2)) == 20);
}

TEST_CASE("Wrapped: what fits a window is the last one, the rest evenly over a multiple") {
  const Closing full = close(wrapping(2), {20}, true);
  CHECK(full.last);
  CHECK(packs_of(full) == Packs{{{0, 0, 10, 0}}, {{0, 10, 20, 0}}});
  const Closing c = close(wrapping(4, 2), {11, 14}, true);  // 25 tokens over 4: 6 6 6 7
  CHECK(c.last);
  CHECK(c.considered == 2);
  CHECK(packs_of(c) ==
        Packs{{{0, 0, 6, 0}}, {{0, 6, 11, 0}, {1, 0, 1, 0}}, {{1, 1, 7, 0}}, {{1, 7, 14, 0}}});
  CHECK(close(wrapping(4, 4), {1, 2}, true).packs == Lengths{0, 1, 1, 1});
  CHECK(close(wrapping(4, 4), {}, true).packs.empty());
  CHECK(close(wrapping(4, 4), {}, true).last);
}

TEST_CASE("Wrapped: drop loses the last packs, from within a sample on") {
  const Closing c = close(wrapping(4, 2, Remainder::kDrop), {11, 14, 2}, true);
  CHECK(packs_of(c) == Packs{{{0, 0, 10, 0}}, {{0, 10, 11, 0}, {1, 0, 9, 0}}});
  CHECK(c.lost == Parts{{1, 9, 14, 0}, {2, 0, 2, 0}});
  CHECK(c.considered == 3);
  CHECK(c.cut == 0);
  const Closing all = close_candidates(wrapping(4, 4, Remainder::kDrop), {{11, 0, 4}}, true);
  CHECK(all.packs.empty());
  CHECK(all.lost == Parts{{0, 4, 11, 0}});
}

TEST_CASE("Wrapped: repeat appends the first packs, and again where that is not enough") {
  const Closing c = close(wrapping(5, 5, Remainder::kRepeat), {11, 3}, true);
  const Parts first{{0, 0, 10, 0}};
  CHECK(packs_of(c) == Packs{first,
                             {{0, 10, 11, 0}, {1, 0, 3, 0}},
                             {{0, 0, 10, 1}},
                             {{0, 10, 11, 1}, {1, 0, 3, 1}},
                             {{0, 0, 10, 2}}});
}

}  // namespace packline::test

#include "sink/shelf.h"

#include <doctest/doctest.h>

#include "tests/unit/sink/sink_fixture.h"

namespace packline {
namespace {

using Put = Shelf::Put;

TEST_CASE("Shelf: a slice that it holds changes nothing") {
  Shelf s(2);
  CHECK(s.put(Line::slice(0, 0, 3)) == Put::kKept);
  CHECK(s.put(Line::slice(0, 0, 3, 2)) == Put::kHad);
  CHECK(s.find({0, 0, 3})->packs == 4);
  CHECK(s.size() == 1);
}

// S3: "Lane holds W: drop the highest, be it the new one; never the lowest, which is waited for."
TEST_CASE("Shelf: a full lane gives up its highest, never the lowest") {
  Shelf s(2);
  s.put(Line::slice(0, 0, 11));
  s.put(Line::slice(0, 0, 10));
  CHECK(s.put(Line::slice(0, 0, 12)) == Put::kFull);
  CHECK(s.put(Line::slice(0, 0, 4)) == Put::kEvicted);
  CHECK(s.keys() == std::vector<WindowKey>{{0, 0, 4}, {0, 0, 10}});
  CHECK(s.put(Line::slice(0, 1, 0)) == Put::kFull);   // a later epoch is higher
  CHECK(s.put(Line::slice(1, 0, 12)) == Put::kKept);  // another lane
  CHECK(s.size_of(0) == 2);
  CHECK(s.size_of(1) == 1);
}

TEST_CASE("Shelf: windows passed over are found, but not held") {
  Shelf s(1);
  s.put(Line::slice(0, 0, 0, 0, true));
  s.pass_over({0, 0, 0});
  CHECK(s.size() == 0);
  CHECK(s.keys().empty());
  REQUIRE(s.find({0, 0, 0}) != nullptr);
  s.pass_over({0, 0, 0});
  CHECK(s.find({0, 0, 0}) != nullptr);
  CHECK(s.put(Line::slice(0, 1, 0)) == Put::kKept);  // the credit is free
}

TEST_CASE("Shelf: settling frees below the mark and forgets what all have come past") {
  Shelf s(3);
  s.put(Line::slice(0, 0, 0, 0));
  s.put(Line::slice(0, 0, 1, 0));
  s.put(Line::slice(0, 0, 2));
  s.put(Line::slice(1, 0, 0));
  s.pass_over({0, 0, 0});
  s.pass_over({0, 0, 1});
  const std::vector<Place> mark{{0, 2, ""}, {0, 1, ""}};
  s.settle(mark, {{0, 1, ""}, {0, 0, ""}});
  CHECK(s.find({0, 0, 0}) == nullptr);  // every rank wants what lies beyond
  CHECK(s.find({0, 0, 1}) != nullptr);
  CHECK(s.find({0, 0, 2}) != nullptr);
  CHECK(s.find({1, 0, 0}) == nullptr);
}

TEST_CASE("Shelf: going back forgets what was passed over there: it comes again") {
  Shelf s(3);
  s.put(Line::slice(0, 0, 4, 0));
  s.pass_over({0, 0, 4});
  const std::vector<Place> mark{{0, 3, ""}, {0, 3, ""}};
  s.settle(mark, mark);
  CHECK(s.find({0, 0, 4}) == nullptr);
}

}  // namespace
}  // namespace packline

#include "lib/packing/room_tree.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/base/random.h"
#include "tests/unit/packing/lane.h"

namespace packline::test {
namespace {

std::uint32_t first_simply(const Lengths& rooms, std::uint32_t room) {
  const auto at = std::ranges::find_if(rooms, [&](std::uint32_t r) { return r >= room; });
  return at == rooms.end() ? RoomTree::kNone : static_cast<std::uint32_t>(at - rooms.begin());
}

}  // namespace

TEST_CASE("RoomTree: finds the first bin with room enough while bins come and fill up") {
  Rng rng(21);
  RoomTree tree;
  for (int turn = 0; turn < 40; ++turn) {
    tree.clear();
    Lengths rooms;
    CHECK(tree.size() == 0);
    CHECK(tree.first(1) == RoomTree::kNone);
    const std::uint64_t steps = turn % 2 == 0 ? 100 : 1500;  // within, and beyond, its first leaves
    for (std::uint64_t step = 0; step < steps; ++step) {
      const auto room = static_cast<std::uint32_t>(rng.below(1000));
      if (rooms.empty() || rng.below(3) > 0) {
        REQUIRE(tree.add(room) == rooms.size());
        rooms.push_back(room);
      } else {
        const auto bin = static_cast<std::uint32_t>(rng.below(rooms.size()));
        tree.set(bin, room);
        rooms[bin] = room;
      }
      const auto some = static_cast<std::uint32_t>(rng.below(rooms.size()));
      REQUIRE(tree.room(some) == rooms[some]);
      const auto wanted = static_cast<std::uint32_t>(1 + rng.below(turn % 3 == 0 ? 1100 : 999));
      REQUIRE(tree.first(wanted) == first_simply(rooms, wanted));
    }
    CHECK(tree.size() == rooms.size());
  }
}

TEST_CASE("RoomTree: bins that are full, and those of an earlier use, are not found") {
  RoomTree tree;
  for (int i = 0; i < 200; ++i) tree.add(7);
  for (std::uint32_t i = 0; i < 200; ++i) tree.set(i, 0);
  CHECK(tree.first(1) == RoomTree::kNone);
  tree.set(199, 3);
  CHECK(tree.first(3) == 199);
  CHECK(tree.first(4) == RoomTree::kNone);
  tree.clear();
  CHECK(tree.add(1) == 0);
  CHECK(tree.first(1) == 0);
  CHECK(tree.first(2) == RoomTree::kNone);
}

}  // namespace packline::test

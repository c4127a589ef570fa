#include "lib/packing/room_set.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "lib/base/random.h"

namespace packline::test {

TEST_CASE("RoomSet: finds the least member at or above, over all its levels") {
  for (const std::uint32_t max : {0U, 1U, 63U, 64U, 4095U, 4096U, 262143U, 262144U, 1000000U}) {
    RoomSet set(max);
    CHECK(set.at_least(0) == RoomSet::kNone);
    std::vector<bool> members(max + 1);
    Rng rng(max);
    for (int turn = 0; turn < 300; ++turn) {
      const auto i = static_cast<std::uint32_t>(rng.below(std::uint64_t{max} + 1));
      members[i] = rng.below(3) > 0;
      members[i] ? set.insert(i) : set.erase(i);
      const auto from = static_cast<std::uint32_t>(rng.below(std::uint64_t{max} + 1));
      const auto at = std::find(members.begin() + from, members.end(), true);
      const auto expected =
          at == members.end() ? RoomSet::kNone : static_cast<std::uint32_t>(at - members.begin());
      REQUIRE(set.at_least(from) == expected);
    }
  }
}

}  // namespace packline::test

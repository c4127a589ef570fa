// Section 5.2 of docs/stream.md, same_kind, window by window.

#include <doctest/doctest.h>

#include <string>

#include "lib/packing/open_window.h"
#include "tests/unit/packing/closings.h"

namespace packline::test {
namespace {

PackSettings kinds(std::uint32_t packs, std::uint32_t multiple, std::uint32_t ahead = 2) {
  PackSettings s = small(10, packs, ahead, 3);
  s.dp_size_multiple = multiple;
  s.same_kind = true;
  return s;
}

// Bins in the order of preference: fullest first, 'M' for a media bin.
Lengths exchanged(const PackSettings& s, const std::string& order) {
  std::vector<BinState> bins;
  for (std::uint32_t i = 0; i < order.size(); ++i)
    bins.push_back({s.capacity, static_cast<std::uint32_t>(100 - i), i, false, order[i] == 'M'});
  return choose_by_exchange(s, bins);
}

Candidate media(std::uint32_t tokens) { return {tokens, 0, 0, true}; }
Candidate plain(std::uint32_t tokens) { return {tokens}; }

}  // namespace

TEST_CASE("same_kind: the most preferred bins are taken where each kind is a multiple") {
  CHECK(exchanged(kinds(4, 2), "MTMTMT") == Lengths{0, 1, 2, 3});
  CHECK(exchanged(kinds(4, 2), "TTTTMM") == Lengths{0, 1, 2, 3});
}

TEST_CASE("same_kind: the exchange that costs less is made, media bins go of equals") {
  // Media 1 of 2: (a) place 3 goes for 4, 1; (b) place 2 goes for 5, 3.
  CHECK(exchanged(kinds(4, 2), "TTTMTM") == Lengths{0, 1, 2, 4});
  // (a) place 0 goes for 5, 5; (b) place 3 goes for 4, 1.
  CHECK(exchanged(kinds(4, 2), "MTTTMT") == Lengths{0, 1, 2, 4});
  // (a) place 2 goes for 5, 3; (b) place 3 goes for 4, 1.
  CHECK(exchanged(kinds(4, 2), "TTMTMT") == Lengths{0, 1, 2, 4});
  // (a) place 2 for 4: 2; (b) place 3 for 5: 2. Of equals (a).
  CHECK(exchanged(kinds(4, 2), "TTMTTM") == Lengths{0, 1, 3, 4});
}

TEST_CASE("same_kind: where one exchange lacks bins the other is made, else none") {
  CHECK(exchanged(kinds(4, 2), "TMTTM") == Lengths{0, 1, 2, 4});
  CHECK(exchanged(kinds(4, 2), "TTTMT") == Lengths{0, 1, 2, 4});
  CHECK(exchanged(kinds(3, 3), "MTMT") == Lengths{});  // 2 of 3: neither two T nor an M are left
  CHECK(exchanged(kinds(3, 3), "MTMM") == Lengths{0, 2, 3});
  CHECK(exchanged(kinds(3, 3), "MTMTT") == Lengths{1, 3, 4});
}

TEST_CASE("same_kind: chosen bins are told in the order of opening") {
  std::vector<BinState> bins{{5, 1, 0, false, false},  // least full
                             {10, 1, 1, false, true},  // fullest
                             {9, 1, 2, false, true},
                             {8, 1, 3, false, false}};
  PackSettings s = kinds(2, 2);
  s.capacity = 10;
  CHECK(choose_by_exchange(s, bins) == Lengths{1, 2});
  bins[0].old = bins[3].old = true;
  CHECK(choose_by_exchange(s, bins) == Lengths{0, 3});
}

TEST_CASE("same_kind: a window may hold mixed bins, as long as groups are of one kind") {
  // {9 1} {8 2m} {7 3m} {9} {6}: with two groups of two the plain plan serves.
  const Closing c = close_candidates(
      kinds(4, 2, 1),
      {plain(9), plain(8), plain(7), plain(6), plain(1), media(2), media(3), plain(9), plain(9)},
      false);
  CHECK(!c.last);
  CHECK(sorted(packs_of(c)) == Bins{{0}, {1, 5}, {2, 6}, {4, 7}});
  const Bins bins = bins_in(c);
  for (const std::size_t k : {0U, 2U})
    CHECK((bins[k] == Lengths{1, 5} || bins[k] == Lengths{2, 6}) ==
          (bins[k + 1] == Lengths{1, 5} || bins[k + 1] == Lengths{2, 6}));
}

TEST_CASE("same_kind: by kind, each kind has packs of its own, media packs are never empty") {
  const Closing c = close_candidates(kinds(4, 2), {plain(4), media(3), plain(4)}, true);
  CHECK(c.last);
  CHECK(c.packs.size() == 4);
  CHECK(sorted(packs_of(c)) == Bins{{0}, {1}, {1}, {2}});
  std::uint32_t repeated = 0;
  for (const Placed& p : c.placed) repeated += p.repetition;
  CHECK(repeated == 1);
}

TEST_CASE("same_kind: samples repeated to fill media packs come in order, again from the first") {
  const Closing c = close_candidates(kinds(5, 5), {media(10), media(10)}, true);
  CHECK(sorted(packs_of(c)) == Bins{{0}, {0}, {0}, {1}, {1}});
  Lengths of_first;
  for (const Placed& p : c.placed)
    if (p.candidate == 0) of_first.push_back(p.repetition);
  std::sort(of_first.begin(), of_first.end());
  CHECK(of_first == Lengths{0, 1, 2});
}

TEST_CASE("same_kind: drop and repeat work on each kind by itself") {
  PackSettings s = kinds(8, 2);
  s.remainder = Remainder::kDrop;
  const std::vector<Candidate> candidates{plain(10), media(9), plain(9),
                                          media(8),  plain(8), media(7)};
  const Closing dropped = close_candidates(s, candidates, true);
  CHECK(sorted(packs_of(dropped)) == Bins{{0}, {1}, {2}, {3}});
  CHECK(dropped.lost == std::vector<Placed>{{4, 0, 8, 0}, {5, 0, 7, 0}});
  s.remainder = Remainder::kRepeat;
  const Closing repeated = close_candidates(s, candidates, true);
  CHECK(sorted(packs_of(repeated)) == Bins{{0}, {0}, {1}, {1}, {2}, {3}, {4}, {5}});
}

TEST_CASE("same_kind: spread closes every window by kind") {
  PackSettings s = kinds(4, 2, 0);
  s.strategy = Strategy::kSpread;
  const Closing c = close_candidates(
      s, {plain(6), media(6), plain(6), media(6), media(6), plain(6), plain(6)}, false);
  CHECK(!c.last);
  CHECK(c.considered == 4);
  CHECK(sorted(packs_of(c)) == Bins{{0}, {1}, {2}, {3}});
}

// ms-swift 9104: 91 % text rows and 9 % image rows on 8 ranks: those of a step ran different
// modules, and training hung.
TEST_CASE("same_kind: one row in eleven has an image, and no step of 8 ranks mixes kinds") {
  PackSettings settings = small(2048, 64, 64, 8);
  settings.same_kind = true;
  settings.dp_size_multiple = 8;
  Rng rng(9104);
  Lane lane;
  for (int i = 0; i < 20000; ++i)
    lane.push_back({1 + static_cast<std::uint32_t>(rng.below(600)), rng.below(100) < 9});
  std::uint64_t steps_with = 0, steps = 0;
  const LaneRun run = run_lane(settings, lane);
  for (const LaneWindow& window : run.windows) {
    const Packs packs = packs_of(window.closing);
    REQUIRE(packs.size() % 8 == 0);
    for (std::size_t step = 0; step < packs.size(); step += 8) {
      std::uint32_t media = 0;
      for (std::size_t k = step; k < step + 8; ++k)
        media +=
            std::ranges::any_of(packs[k], [&](const Placed& p) { return lane[p.candidate].media; });
      CHECK((media == 0 || media == 8));
      steps_with += media == 8 ? 1 : 0;
      ++steps;
    }
  }
  CHECK(steps_with > 20);
  CHECK(steps - steps_with > 20);
}

}  // namespace packline::test

#include "lib/corpus/order.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "lib/base/random.h"

namespace packline {
namespace {

std::vector<RecordRef> all_of(const EpochOrder& order) {
  std::vector<RecordRef> refs;
  for (std::uint64_t i = 0; i < order.size(); ++i) refs.push_back(order.at(i));
  return refs;
}

EpochOrder order_of(std::vector<SourceShare> sources, ShuffleSettings shuffle = {},
                    std::uint64_t seed = 17, std::uint64_t epoch = 0) {
  return {sources, shuffle, seed, epoch};
}

// Every record of every source as often as `repeat` says, each copy once.
void check_counts(const std::vector<SourceShare>& sources, const std::vector<RecordRef>& refs) {
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, int> met;
  std::vector<std::uint64_t> places(sources.size()), extra(sources.size());
  for (const RecordRef& r : refs) {
    REQUIRE(r.source < sources.size());
    REQUIRE(r.record < sources[r.source].records);
    REQUIRE(++met[{r.source, r.record, r.copy}] == 1);
    ++places[r.source];
  }
  for (std::uint32_t s = 0; s < sources.size(); ++s) {
    const auto whole = static_cast<std::uint32_t>(sources[s].repeat);
    for (std::uint64_t i = 0; i < sources[s].records; ++i) {
      for (std::uint32_t copy = 0; copy < whole; ++copy) REQUIRE(met.count({s, i, copy}) == 1);
      extra[s] += met.count({s, i, whole});
    }
    const auto n = static_cast<double>(sources[s].records);
    CHECK(extra[s] ==
          static_cast<std::uint64_t>(std::floor((sources[s].repeat - whole) * n + 0.5)));
    CHECK(places[s] == whole * sources[s].records + extra[s]);
  }
}

const std::vector<ShuffleSettings> kShuffles{
    {ShuffleKind::kFull, 0}, {ShuffleKind::kBuffer, 7}, {ShuffleKind::kNone, 0}};

}  // namespace

TEST_CASE("EpochOrder: every record exactly as often as repeat says") {
  const std::vector<std::vector<SourceShare>> jobs{
      {{100, 0, 1}},
      {{1, 0, 1}},
      {{0, 0, 1}},
      {{101, 0, 2.5}},
      {{100, 0, 0.25}, {37, 0, 3}, {0, 0, 1}, {1, 0, 1.4}},
      {{90, 3, 1}, {40, 1, 2}, {500, 0.5, 0.7}},
      {{10, 1e-9, 1}, {10, 1e9, 1}},
      {{0, 1, 1}, {12, 2, 1}},
  };
  for (const auto& sources : jobs) {
    for (const ShuffleSettings& shuffle : kShuffles) {
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        check_counts(sources, all_of(order_of(sources, shuffle, 17, epoch)));
      }
    }
  }
}

TEST_CASE("EpochOrder: without shuffling records come in their order, copy after copy") {
  const auto refs = all_of(order_of({{3, 0, 2}}, {ShuffleKind::kNone, 0}));
  CHECK(refs ==
        std::vector<RecordRef>{{0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {0, 1, 0}, {0, 1, 1}, {0, 1, 2}});
}

TEST_CASE("EpochOrder: a full shuffle is the permutation of docs/stream.md") {
  const EpochOrder order = order_of({{50, 0, 1}, {60, 0, 1}}, {}, 17, 4);
  std::vector<std::uint64_t> next(2);
  const Permutation perms[]{Permutation(50, derive(17, {2, 4, 0})),
                            Permutation(60, derive(17, {2, 4, 1}))};
  for (const RecordRef& r : all_of(order)) {
    REQUIRE(r.record == perms[r.source](next[r.source]++));
  }
}

TEST_CASE("EpochOrder: a buffered shuffle stays within its blocks") {
  const auto refs = all_of(order_of({{23, 0, 1}}, {ShuffleKind::kBuffer, 10}));
  bool moved = false;
  for (std::uint64_t i = 0; i < refs.size(); ++i) {
    CHECK(refs[i].record / 10 == i / 10);
    moved = moved || refs[i].record != i;
  }
  CHECK(moved);
}

TEST_CASE("EpochOrder: seeds and epochs give other orders of the same records") {
  const std::vector<SourceShare> sources{{1000, 0, 1.5}};
  const auto base = all_of(order_of(sources));
  CHECK(base == all_of(order_of(sources)));
  CHECK(base != all_of(order_of(sources, {}, 18)));
  CHECK(base != all_of(order_of(sources, {}, 17, 1)));
}

TEST_CASE("EpochOrder: sources interleave evenly by their sizes") {
  const std::vector<SourceShare> sources{{3000, 0, 1}, {1000, 0, 1}, {500, 0, 1}};
  const auto refs = all_of(order_of(sources));
  std::vector<double> seen(3);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    ++seen[refs[i].source];
    for (std::size_t s = 0; s < 3; ++s) {
      const double expected =
          static_cast<double>((i + 1) * sources[s].records) / static_cast<double>(refs.size());
      REQUIRE(std::abs(seen[s] - expected) <= 2);
    }
  }
}

TEST_CASE("EpochOrder: sources interleave by weight until one is used up") {
  // 1:3 until the 300 of the second are used up, after 100 of the first; then the first alone.
  const auto refs = all_of(order_of({{1000, 0.25, 1}, {300, 0.75, 1}}));
  std::uint64_t second = 0;
  for (std::size_t i = 0; i < 400; ++i) {
    second += refs[i].source;
    REQUIRE(std::abs(static_cast<double>(second) - 0.75 * static_cast<double>(i + 1)) <= 1);
  }
  CHECK(second == 300);
  for (std::size_t i = 400; i < refs.size(); ++i) REQUIRE(refs[i].source == 0);
  CHECK(refs.size() == 1300);
}

// L9. Resume costs the same wherever you are: any place is reached at once, and is what reading
// from the start would have come to.
TEST_CASE("EpochOrder: seeking is reading in order") {
  const std::vector<SourceShare> sources{{70, 2, 1.3}, {200, 1, 1}};
  const auto refs = all_of(order_of(sources));
  for (std::uint64_t i = refs.size(); i-- > 0;) {
    const EpochOrder fresh = order_of(sources);
    REQUIRE(fresh.at(i) == refs[i]);
  }
}

TEST_CASE("EpochOrder: a huge epoch needs no memory and no time") {
  const EpochOrder order = order_of({{std::uint64_t{1} << 40, 0, 1}, {7, 0, 1}});
  CHECK(order.size() == (std::uint64_t{1} << 40) + 7);
  for (const std::uint64_t i : {std::uint64_t{0}, std::uint64_t{1} << 39, order.size() - 1}) {
    const RecordRef r = order.at(i);
    CHECK(r.record < (r.source == 0 ? std::uint64_t{1} << 40 : 7));
  }
}

TEST_CASE("EpochOrder: lanes share the order's places") {
  for (const std::uint64_t n : {0, 1, 3, 4, 5, 1001}) {
    const EpochOrder order = order_of({{n, 0, 1}});
    for (const std::uint32_t lanes : {1U, 2U, 4U, 7U}) {
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        std::uint64_t count = 0;
        for (std::uint64_t i = lane; i < n; i += lanes) ++count;
        CHECK(order.lane_size(lane, lanes) == count);
      }
    }
  }
}

}  // namespace packline

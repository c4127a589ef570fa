#include <doctest/doctest.h>

#include <numeric>

#include "lib/packing/planner.h"
#include "tests/unit/packing/histograms.h"
#include "tests/unit/packing/lane.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kUnderSanitizer = true;
#elif defined(__has_feature)
constexpr bool kUnderSanitizer =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kUnderSanitizer = false;
#endif

namespace packline::test {
namespace {

// A plan that keeps the capacity, names each sample once and leaves no bin empty.
void check_plan(const Plan& plan, const std::vector<std::uint32_t>& lengths,
                std::uint32_t capacity) {
  std::vector<std::uint32_t> tokens(plan.bins);
  REQUIRE(plan.bin_of.size() == lengths.size());
  bool known = true;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    known = known && plan.bin_of[i] < plan.bins;
    if (known) tokens[plan.bin_of[i]] += lengths[i];
  }
  CHECK(known);
  CHECK(*std::max_element(tokens.begin(), tokens.end()) <= capacity);
  CHECK(*std::min_element(tokens.begin(), tokens.end()) > 0);
}

double fill_of(const std::vector<std::uint32_t>& lengths, std::uint64_t packs,
               std::uint32_t capacity) {
  const auto tokens = std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
  return 100.0 * static_cast<double>(tokens) / static_cast<double>(packs * capacity);
}

// By how many points of fill one lane with the default look-ahead stays behind all lengths planned
// at once.
double cost_of_windows(const std::vector<std::uint32_t>& lengths, std::uint32_t capacity) {
  PackSettings settings;
  settings.capacity = capacity;
  REQUIRE(settings.packs_per_window == 256);
  REQUIRE(settings.lookahead_packs == 256);
  REQUIRE(settings.lookahead_samples_max == 256);
  REQUIRE(settings.lookahead_windows_max == 8);
  const LaneRun run = run_lane(settings, lane_of(lengths));
  CHECK(run.age_max <= settings.lookahead_windows_max);
  const double lane = fill_of(lengths, run.packs, capacity);
  const double at_once =
      fill_of(lengths, Planner(BinLimit{capacity}).count_bins(lengths, UINT32_MAX), capacity);
  MESSAGE("capacity ", capacity, ": fill ", lane, " %, all at once ", at_once, " %, ",
          run.windows.size(), " windows, at most ", run.carried_max, " samples carried");
  return at_once - lane;
}

}  // namespace

TEST_CASE("Planner: best fit decreasing needs the golden number of bins") {
  std::string name;
  std::vector<std::uint32_t> lengths;
  std::size_t rows = 0;
  for (const Golden& g : read_golden()) {
    CAPTURE(g.histogram);
    CAPTURE(g.capacity);
    if (g.histogram != name) lengths = expand(read_histogram(name = g.histogram));
    CHECK(lengths.size() == g.samples);
    CHECK(std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}) == g.tokens);
    Planner planner(BinLimit{g.capacity});
    CHECK(planner.count_bins(lengths, UINT32_MAX) == g.bins);
    CHECK(planner.count_bins(lengths, static_cast<std::uint32_t>(g.bins)) == g.bins);
    CHECK(planner.count_bins(lengths, static_cast<std::uint32_t>(g.bins - 1)) == g.bins);
    ++rows;
    if (lengths.size() > 1000000) continue;
    const Plan plan = planner.plan(lengths);
    CHECK(plan.bins == g.bins);
    check_plan(plan, lengths, g.capacity);
    CHECK(planner.plan(shuffled(lengths, 7)).bins == g.bins);
  }
  CHECK(rows == 20);
}

TEST_CASE("Planner: 16 million lengths are placed into the golden number of bins") {
  const std::vector<std::uint32_t> lengths = expand(read_histogram("wikipedia_bert_512"));
  for (const auto& [capacity, bins] : {std::pair{512U, 8138483U}, std::pair{8192U, 508405U}}) {
    Planner planner(BinLimit{capacity});
    const Plan plan = planner.plan(lengths);
    CHECK(plan.bins == bins);
    check_plan(plan, lengths, capacity);
  }
}

// What windows cost against planning the whole list at once, in points; a lane's last window, which
// no look-ahead helps, is in it.
// A measurement over whole lists, not of memory: minutes under a sanitizer.
TEST_CASE("Closing: fill of the default look-ahead comes close to all at once" *
          doctest::skip(kUnderSanitizer)) {
  const std::vector<std::uint32_t> wikipedia =
      draw(expand(read_histogram("wikipedia_bert_512")), 2000000, 1);
  CHECK(cost_of_windows(wikipedia, 512) < 0.1);
  CHECK(cost_of_windows(wikipedia, 8192) < 0.1);
  CHECK(cost_of_windows(shuffled(expand(read_histogram("squad11_bert_384")), 2), 384) < 0.1);
  CHECK(cost_of_windows(shuffled(expand(read_histogram("openchat_v1_2048")), 3), 2048) < 0.1);
}

TEST_CASE("Closing: fill of the whole Wikipedia list" * doctest::test_suite("long") *
          doctest::skip()) {
  const std::vector<std::uint32_t> lengths =
      shuffled(expand(read_histogram("wikipedia_bert_512")), 4);
  CHECK(cost_of_windows(lengths, 512) < 0.1);
  CHECK(cost_of_windows(lengths, 8192) < 0.1);
}

}  // namespace packline::test

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "lib/base/random.h"
#include "lib/packing/advice.h"

namespace packline {
namespace {

LengthCounts counts_of_lengths(const std::vector<std::uint32_t>& lengths) {
  LengthCounts counts;
  for (const std::uint32_t length : lengths) counts.add(length);
  return counts;
}

PackSettings plain_settings(std::uint32_t capacity) {
  PackSettings settings;
  settings.capacity = capacity;
  return settings;
}

// The fewest bins there are, by trying everything.
std::uint32_t fewest_bins(const std::vector<std::uint32_t>& sizes, std::uint32_t capacity) {
  auto best = static_cast<std::uint32_t>(sizes.size());
  std::vector<std::uint32_t> rooms;
  const auto place = [&](const auto& self, std::size_t i) -> void {
    if (rooms.size() >= best) return;
    if (i == sizes.size()) {
      best = static_cast<std::uint32_t>(rooms.size());
      return;
    }
    for (std::size_t b = 0; b < rooms.size(); ++b) {
      if (rooms[b] < sizes[i]) continue;
      rooms[b] -= sizes[i];
      self(self, i + 1);
      rooms[b] += sizes[i];
    }
    rooms.push_back(capacity - sizes[i]);
    self(self, i + 1);
    rooms.pop_back();
  };
  place(place, 0);
  return best;
}

TEST_CASE("LengthCounts: samples, tokens, the longest, and lengths in order") {
  LengthCounts counts = counts_of_lengths({7, 3, 7});
  counts.add(9, 0);
  CHECK(counts.samples() == 3);
  CHECK(counts.tokens() == 17);
  CHECK(counts.longest() == 7);
  CHECK(counts.ascending() == std::vector<std::pair<std::uint32_t, std::uint64_t>>{{3, 1}, {7, 2}});
}

TEST_CASE("fit_at: opens as many packs as the planner, with and without a limit of samples") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Rng rng(derive(9, {seed}));
    PackSettings settings = plain_settings(static_cast<std::uint32_t>(8 * (1 + rng.below(40))));
    settings.max_samples = static_cast<std::uint32_t>(rng.below(5));
    settings.sample_multiple_of = rng.below(2) == 0 ? 1 : 4;
    std::vector<std::uint32_t> lengths(rng.below(400)), sizes;
    for (std::uint32_t& length : lengths) {
      length = static_cast<std::uint32_t>(1 + rng.below(settings.capacity));
      sizes.push_back((length + settings.sample_multiple_of - 1) / settings.sample_multiple_of *
                      settings.sample_multiple_of);
    }
    const CapacityFit fit = fit_at(counts_of_lengths(lengths), settings, settings.capacity);
    CHECK(fit.packs == Planner(settings).plan(sizes).bins);
    CHECK(fit.packs_at_least <= fit.packs);
    CHECK(fit.samples == lengths.size());
    CHECK(fit.tokens == std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}));
    CHECK(fit.over_long_samples == 0);
  }
}

TEST_CASE("fit_at: no plan has fewer packs than it says, and often one has just so many") {
  int met = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Rng rng(derive(10, {seed}));
    std::vector<std::uint32_t> lengths(1 + rng.below(8));
    for (std::uint32_t& length : lengths) length = static_cast<std::uint32_t>(1 + rng.below(20));
    const CapacityFit fit = fit_at(counts_of_lengths(lengths), plain_settings(20), 20);
    const std::uint32_t fewest = fewest_bins(lengths, 20);
    CHECK(fit.packs_at_least <= fewest);
    CHECK(fit.packs >= fewest);
    met += fit.packs_at_least == fewest ? 1 : 0;
  }
  CHECK(met > 250);
}

TEST_CASE("fit_at: samples of more than half a capacity are seen to fit no better") {
  LengthCounts counts;
  counts.add(5'087, 100);
  const CapacityFit fit = fit_at(counts, plain_settings(8'192), 8'192);
  CHECK(fit.packs == 100);
  CHECK(fit.packs_at_least == 100);
  CHECK(fit.fill() == doctest::Approx(5'087.0 / 8'192));
  CHECK(fit_at(counts, plain_settings(8'192), 10'240).fill() ==
        doctest::Approx(0.99355).epsilon(1e-4));
}

TEST_CASE("fit_at: a sample too long for a capacity becomes what over_long says") {
  const LengthCounts counts = counts_of_lengths({10, 4, 23});
  PackSettings settings = plain_settings(16);
  CapacityFit fit = fit_at(counts, settings, 10);
  CHECK(fit.over_long_samples == 1);
  CHECK(fit.tokens_gone == 23);
  CHECK(fit.tokens == 14);
  CHECK(fit.packs == 2);
  settings.over_long = OverLong::kTruncateLeft;
  fit = fit_at(counts, settings, 10);
  CHECK(fit.tokens_gone == 13);
  CHECK(fit.tokens == 24);
  CHECK(fit.packs == 3);
  settings.over_long = OverLong::kSplit;  // 10, 10, 3
  fit = fit_at(counts, settings, 10);
  CHECK(fit.tokens_gone == 0);
  CHECK(fit.samples == 5);
  CHECK(fit.packs == 4);  // 10, 10, 10, 4 + 3
  CHECK(fit_at(counts, settings, 23).over_long_samples == 0);
}

TEST_CASE("fit_at: packs come in multiples of dp_size_multiple unless the remainder is dropped") {
  LengthCounts counts;
  counts.add(10, 9);
  PackSettings settings = plain_settings(10);
  settings.dp_size_multiple = 4;
  CHECK(fit_at(counts, settings, 10).packs == 12);
  CHECK(fit_at(counts, settings, 10).packs_at_least == 12);
  settings.remainder = Remainder::kDrop;
  CHECK(fit_at(counts, settings, 10).packs == 9);
}

TEST_CASE("fit_at: a stream that is cut fills every row") {
  PackSettings settings = plain_settings(10);
  settings.strategy = Strategy::kWrapped;
  const CapacityFit fit = fit_at(counts_of_lengths({9, 9, 33}), settings, 10);
  CHECK(fit.packs == 6);
  CHECK(fit.packs_at_least == 6);
  CHECK(fit.over_long_samples == 0);
}

TEST_CASE("fit_at: nothing to pack is no pack") {
  const CapacityFit fit = fit_at({}, plain_settings(10), 10);
  CHECK(fit.packs == 0);
  CHECK(fit.fill() == 0);
  CHECK(fit.best_fill() == 0);
}

TEST_CASE("capacities_around: the job's, some around it and the longest, all of them allowed") {
  PackSettings settings = plain_settings(8'192);
  CHECK(capacities_around(settings, 9'000) ==
        std::vector<std::uint32_t>{4'096, 6'144, 8'192, 9'000, 10'240, 12'288, 16'384});
  settings.sample_multiple_of = 64;
  settings.pad_to_multiple_of = 128;
  const auto rounded = capacities_around(settings, 9'001);
  CHECK(std::ranges::all_of(rounded, [](std::uint32_t c) { return c % 128 == 0; }));
  CHECK(std::ranges::find(rounded, 9'088) != rounded.end());
  settings.pad_to_multiple_of = 8'192;
  const auto unpadded = capacities_around(settings, 0);
  CHECK(std::ranges::find(unpadded, 6'144) != unpadded.end());
  CHECK(capacities_around(plain_settings(1), 0) == std::vector<std::uint32_t>{1, 2});
  const auto most = capacities_around(plain_settings(16'777'216), UINT32_MAX);
  CHECK(most.back() == 16'777'216);
}

}  // namespace
}  // namespace packline

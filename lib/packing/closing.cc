#include "lib/packing/closing.h"

#include <algorithm>
#include <numeric>

#include "lib/base/check.h"

namespace packline {
namespace {

// The step numbers are those of docs/stream.md section 5.2.

std::uint32_t lookahead_of(const PackSettings& settings) {
  return settings.strategy == Strategy::kSequential ? 0 : settings.lookahead_packs;
}

std::uint32_t rounded_up(std::uint32_t n, std::uint32_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

std::vector<std::uint32_t> first(std::uint32_t n) {
  std::vector<std::uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

Closing close_sequential(const PackSettings& settings, std::span<const std::uint32_t> lengths,
                         bool at_end) {
  std::uint32_t bins = 0;
  std::uint32_t room = 0;
  std::uint32_t n = 0;
  for (; n < lengths.size(); ++n) {
    if (bins == 0 || lengths[n] > room) {
      if (bins == settings.packs_per_window) break;
      ++bins;
      room = settings.capacity;
    }
    room -= lengths[n];
  }
  const bool all = n == lengths.size();
  PL_CHECK(!all || at_end);
  return {all ? rounded_up(bins, settings.dp_size_multiple) : bins, n, first(n)};
}

// Steps 1 and 2: how many candidates to consider, so that they plan to at most `bins` bins.
std::uint32_t prefix_for(const PackSettings& settings, Planner& planner,
                         std::span<const std::uint32_t> lengths, std::uint32_t bins, bool at_end) {
  const std::uint64_t most = std::uint64_t{bins} * settings.capacity;
  const auto fits = [&](std::uint32_t x) {
    return planner.count_bins(lengths.first(x), bins) <= bins;
  };
  std::uint32_t cap = 0;
  std::uint64_t tokens = 0;
  while (cap < lengths.size() && tokens <= most) tokens += lengths[cap++];
  if (tokens <= most) {
    PL_CHECK(at_end);
    if (fits(cap)) return cap;
  }
  std::uint32_t step = std::max(1U, cap / 64);
  std::uint32_t hi = cap;
  std::uint32_t lo = 0;
  for (;;) {
    const std::uint32_t x = hi > step ? hi - step : 0;
    if (x == 0 || fits(x)) {
      lo = x;
      break;
    }
    hi = x;
    step *= 2;
  }
  while (hi - lo > 1) {
    const std::uint32_t mid = lo + (hi - lo) / 2;
    (fits(mid) ? lo : hi) = mid;
  }
  return lo;
}

struct BinState {
  std::uint64_t tokens = 0;
  std::uint32_t bin = 0;
  bool old = false;  // holds a sample that has waited long enough
};

// Step 4: which bins are taken, of more than `wanted`.
std::vector<bool> choose(std::vector<BinState>& bins, std::uint32_t wanted) {
  std::nth_element(bins.begin(), bins.begin() + wanted, bins.end(),
                   [](const BinState& a, const BinState& b) {
                     if (a.old != b.old) return a.old;
                     return a.tokens != b.tokens ? a.tokens > b.tokens : a.bin < b.bin;
                   });
  std::vector<bool> chosen(bins.size());
  for (std::uint32_t i = 0; i < wanted; ++i) chosen[bins[i].bin] = true;
  return chosen;
}

Closing close_best_fit(const PackSettings& settings, Planner& planner,
                       std::span<const Candidate> candidates,
                       std::span<const std::uint32_t> lengths, bool at_end) {
  const std::uint32_t wanted = settings.packs_per_window;
  const std::uint32_t n =
      prefix_for(settings, planner, lengths, wanted + settings.lookahead_packs, at_end);
  const Plan plan = planner.plan(lengths.first(n));
  if (plan.bins <= wanted) {
    const bool last = at_end && n == candidates.size();
    return {last ? rounded_up(plan.bins, settings.dp_size_multiple) : wanted, n, first(n)};
  }

  std::vector<BinState> bins(plan.bins);
  for (std::uint32_t b = 0; b < plan.bins; ++b) bins[b].bin = b;
  for (std::uint32_t i = 0; i < n; ++i) {
    BinState& bin = bins[plan.bin_of[i]];
    bin.tokens += lengths[i];
    bin.old |= candidates[i].age >= settings.lookahead_windows_max;
  }
  const auto old = std::count_if(bins.begin(), bins.end(), [](const auto& b) { return b.old; });
  if (old > wanted) {  // step 5: they cannot all be taken, so nothing is looked ahead
    const std::uint32_t x = prefix_for(settings, planner, lengths, wanted, at_end);
    return {wanted, x, first(x)};
  }

  Closing closing{wanted, n, {}};
  const std::vector<bool> chosen = choose(bins, wanted);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (chosen[plan.bin_of[i]]) closing.taken.push_back(i);
  }
  return closing;
}

}  // namespace

std::uint64_t tokens_wanted(const PackSettings& settings) {
  return (std::uint64_t{settings.packs_per_window} + lookahead_of(settings)) * settings.capacity;
}

Closing close_window(const PackSettings& settings, Planner& planner,
                     std::span<const Candidate> candidates, bool at_end) {
  PL_CHECK(candidates.size() < UINT32_MAX);
  std::vector<std::uint32_t> lengths;
  lengths.reserve(candidates.size());
  for (const Candidate& c : candidates) lengths.push_back(c.length);
  return settings.strategy == Strategy::kSequential
             ? close_sequential(settings, lengths, at_end)
             : close_best_fit(settings, planner, candidates, lengths, at_end);
}

}  // namespace packline

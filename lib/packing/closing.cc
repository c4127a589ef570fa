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

// How far a window looks ahead; step 5 does not.
struct LookAhead {
  std::uint32_t packs = 0;
  std::uint32_t samples = 0;
};

// Step 1: the first candidates that are looked at, at most. Fewer than the limit only where the
// candidates end.
template <typename LengthOf>
std::uint32_t looked_at(const PackSettings& settings, LookAhead ahead, std::size_t candidates,
                        LengthOf length_of, bool& reached) {
  const std::uint64_t window = std::uint64_t{settings.packs_per_window} * settings.capacity;
  const std::uint64_t most = window + std::uint64_t{ahead.packs} * settings.capacity;
  std::uint64_t tokens = 0;
  std::uint32_t n = 0;
  std::uint32_t beyond = 0;  // candidates behind the one that exceeds the window's tokens
  reached = false;
  for (; n < candidates && !reached; ++n) {
    if (tokens > window) ++beyond;
    tokens += length_of(n);
    reached = tokens > most || (tokens > window && beyond >= ahead.samples);
  }
  return n;
}

// Steps 1 and 2: how many candidates to consider, so that they plan to at most the packs of the
// window and its look-ahead.
std::uint32_t prefix_for(const PackSettings& settings, Planner& planner,
                         std::span<const std::uint32_t> lengths, LookAhead ahead, bool at_end) {
  const std::uint32_t bins = settings.packs_per_window + ahead.packs;
  const auto fits = [&](std::uint32_t x) {
    return planner.count_bins(lengths.first(x), bins) <= bins;
  };
  bool reached = false;
  const std::uint32_t cap = looked_at(
      settings, ahead, lengths.size(), [&](std::uint32_t i) { return lengths[i]; }, reached);
  PL_CHECK(reached || at_end);
  if (fits(cap)) return cap;
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
  std::uint32_t samples = 0;
  std::uint32_t bin = 0;
  bool old = false;  // holds a sample that has waited long enough
};

// Step 4: which bins are taken, of more than `wanted`. Bins that are as good as equally full are
// not told apart by tokens: of these the ones with many samples go, so that few samples are
// carried.
std::vector<bool> choose(std::vector<BinState>& bins, std::uint32_t wanted,
                         std::uint32_t capacity) {
  const auto free = [&](const BinState& b) { return (capacity - b.tokens) * 1024 / capacity; };
  std::nth_element(bins.begin(), bins.begin() + wanted, bins.end(),
                   [&](const BinState& a, const BinState& b) {
                     if (a.old != b.old) return a.old;
                     if (const auto fa = free(a), fb = free(b); fa != fb) return fa < fb;
                     return a.samples != b.samples ? a.samples > b.samples : a.bin < b.bin;
                   });
  std::vector<bool> chosen(bins.size());
  for (std::uint32_t i = 0; i < wanted; ++i) chosen[bins[i].bin] = true;
  return chosen;
}

Closing close_best_fit(const PackSettings& settings, Planner& planner,
                       std::span<const Candidate> candidates,
                       std::span<const std::uint32_t> lengths, bool at_end) {
  const std::uint32_t wanted = settings.packs_per_window;
  const LookAhead ahead{settings.lookahead_packs, settings.lookahead_samples_max};
  const std::uint32_t n = prefix_for(settings, planner, lengths, ahead, at_end);
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
    ++bin.samples;
    bin.old |= candidates[i].age >= settings.lookahead_windows_max;
  }
  const auto old = std::count_if(bins.begin(), bins.end(), [](const auto& b) { return b.old; });
  if (old > wanted) {  // step 5: they cannot all be taken, so nothing is looked ahead
    const std::uint32_t x = prefix_for(settings, planner, lengths, {}, at_end);
    return {wanted, x, first(x)};
  }

  Closing closing{wanted, n, {}};
  const std::vector<bool> chosen = choose(bins, wanted, settings.capacity);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (chosen[plan.bin_of[i]]) closing.taken.push_back(i);
  }
  return closing;
}

}  // namespace

std::uint64_t tokens_wanted(const PackSettings& settings) {
  return (std::uint64_t{settings.packs_per_window} + lookahead_of(settings)) * settings.capacity;
}

bool wants_more(const PackSettings& settings, std::span<const Candidate> candidates) {
  const bool looks = settings.strategy != Strategy::kSequential;
  const LookAhead ahead{lookahead_of(settings),
                        looks ? settings.lookahead_samples_max : UINT32_MAX};
  bool reached = false;
  looked_at(
      settings, ahead, candidates.size(), [&](std::uint32_t i) { return candidates[i].length; },
      reached);
  return !reached;
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

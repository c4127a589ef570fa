#include "lib/packing/closing.h"

#include <algorithm>
#include <numeric>

#include "lib/base/check.h"
#include "lib/packing/open_window.h"
#include "lib/packing/pack_order.h"
#include "lib/packing/wrapped.h"

namespace packline {
namespace {

// The step numbers are those of docs/stream.md section 5.2.

LookAhead lookahead_of(const PackSettings& settings) {
  if (looks_ahead(settings.strategy))
    return {settings.lookahead_packs, settings.lookahead_samples_max};
  return {0, settings.strategy == Strategy::kSpread ? 0 : UINT32_MAX};
}

BinLimit limit_of(const PackSettings& settings) {
  return {settings.capacity, settings.max_samples};
}

std::span<const std::uint32_t> first(const Candidates& c, std::uint32_t n) {
  return std::span(c.sizes).first(n);
}

OpenWindow close_sequential(const PackSettings& settings, const Candidates& candidates,
                            bool at_end) {
  OpenWindow w;
  w.bins = next_fit(candidates.sizes, limit_of(settings), settings.packs_per_window, w.considered);
  w.last = w.considered == candidates.sizes.size();
  PL_CHECK(!w.last || at_end);
  return w;
}

OpenWindow close_spread(const PackSettings& settings, Planner& planner,
                        const Candidates& candidates, bool at_end) {
  if (settings.same_kind) return close_by_kind(settings, planner, candidates, at_end);
  const auto spread_of = [&](std::uint32_t x) {
    return spread_evenly(first(candidates, x), settings.packs_per_window, limit_of(settings));
  };
  OpenWindow w;
  w.considered = prefix_for(settings, candidates, lookahead_of(settings),
                            [&](std::uint32_t x) { return spread_of(x).has_value(); });
  w.last = at_end && w.considered == candidates.sizes.size();
  // samples that spread over so many bins may need more by best fit
  const bool fewest = w.last && planner.count_bins(candidates.sizes, settings.packs_per_window) <=
                                    settings.packs_per_window;
  w.bins = fewest ? bins_of(planner.plan(candidates.sizes)) : std::move(*spread_of(w.considered));
  return w;
}

// The chosen bins of a plan, in the order of opening.
Bins chosen_bins(const Plan& plan, const std::vector<std::uint32_t>& chosen) {
  std::vector<std::uint32_t> place(plan.bins, UINT32_MAX);
  for (std::uint32_t i = 0; i < chosen.size(); ++i) place[chosen[i]] = i;
  std::vector<std::uint32_t> samples(plan.bins);
  for (const std::uint32_t bin : plan.bin_of) ++samples[bin];
  Bins bins(chosen.size());
  for (std::uint32_t i = 0; i < chosen.size(); ++i) bins[i].reserve(samples[chosen[i]]);
  for (std::uint32_t i = 0; i < plan.bin_of.size(); ++i)
    if (const std::uint32_t at = place[plan.bin_of[i]]; at != UINT32_MAX) bins[at].push_back(i);
  return bins;
}

// Step 4, when there are more bins than the window takes.
std::vector<std::uint32_t> choose(const PackSettings& settings, std::vector<BinState> bins) {
  const std::uint32_t wanted = settings.packs_per_window;
  std::nth_element(
      bins.begin(), bins.begin() + wanted, bins.end(),
      [&](const BinState& a, const BinState& b) { return preferred(settings.capacity, a, b); });
  std::vector<std::uint32_t> chosen(wanted);
  for (std::uint32_t i = 0; i < wanted; ++i) chosen[i] = bins[i].bin;
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

OpenWindow close_best_fit(const PackSettings& settings, Planner& planner,
                          const Candidates& candidates, bool at_end) {
  const std::uint32_t wanted = settings.packs_per_window;
  const auto prefix = [&](LookAhead ahead) {
    const std::uint32_t most = wanted + ahead.packs;
    return prefix_for(settings, candidates, ahead, [&](std::uint32_t x) {
      return planner.count_bins(first(candidates, x), most) <= most;
    });
  };
  OpenWindow w;
  w.considered = prefix(lookahead_of(settings));
  const Plan plan = planner.plan(first(candidates, w.considered));
  if (plan.bins <= wanted) {  // step 3, or step 4 with too few bins
    if (settings.same_kind) return close_by_kind(settings, planner, candidates, at_end);
    w.last = at_end && w.considered == candidates.sizes.size();
    w.bins = bins_of(plan);
    if (!w.last) w.bins = spread(candidates.sizes, w.bins, wanted, limit_of(settings));
    return w;
  }
  std::vector<BinState> states = states_of(settings, candidates, plan);
  const auto old = std::ranges::count_if(states, [](const BinState& b) { return b.old; });
  if (old <= wanted) {
    const std::vector<std::uint32_t> chosen = settings.same_kind
                                                  ? choose_by_exchange(settings, std::move(states))
                                                  : choose(settings, std::move(states));
    if (chosen.empty()) return close_by_kind(settings, planner, candidates, at_end);
    w.bins = chosen_bins(plan, chosen);
    return w;
  }
  // Step 5: they cannot all be taken, so nothing is looked ahead.
  if (settings.same_kind) return close_by_kind(settings, planner, candidates, at_end);
  w.considered = prefix({});
  const Bins bins = bins_of(planner.plan(first(candidates, w.considered)));
  w.bins = spread(candidates.sizes, bins, wanted, limit_of(settings));
  return w;
}

std::vector<std::vector<Placed>> placed_in(const OpenWindow& w,
                                           std::span<const Candidate> candidates) {
  std::vector<std::vector<Placed>> packs(w.bins.size());
  for (std::size_t b = 0; b < w.bins.size(); ++b) {
    packs[b].reserve(w.bins[b].size());
    for (const std::uint32_t c : w.bins[b]) packs[b].push_back({c, 0, candidates[c].tokens, 0});
  }
  for (const auto& [bin, c] : w.more) packs[bin].push_back({c, 0, candidates[c].tokens, 1});
  return packs;
}

// Appends the packs that are repeated, and numbers all repetitions of a sample in this window.
void repeat(std::vector<std::vector<Placed>>& packs, const std::vector<std::uint32_t>& again,
            std::size_t candidates) {
  for (const std::uint32_t bin : again) {
    packs.push_back(packs[bin]);
    for (Placed& p : packs.back()) p.repetition = 1;
  }
  std::vector<std::uint32_t> times;
  for (auto& pack : packs) {
    for (Placed& p : pack) {
      if (p.repetition == 0) continue;
      times.resize(candidates);
      p.repetition = ++times[p.candidate];
    }
  }
}

Closing emitted(const std::vector<std::vector<Placed>>& packs) {
  Closing c;
  c.packs.reserve(packs.size());
  std::size_t placed = 0;
  for (const auto& pack : packs) placed += pack.size();
  c.placed.reserve(placed);
  for (const auto& pack : packs) {
    c.packs.push_back(static_cast<std::uint32_t>(pack.size()));
    c.placed.insert(c.placed.end(), pack.begin(), pack.end());
  }
  return c;
}

}  // namespace

std::uint32_t size_of(const PackSettings& settings, const Candidate& c) {
  return rounded_up(c.tokens - c.begin, settings.sample_multiple_of);
}

std::uint64_t tokens_wanted(const PackSettings& settings) {
  return (std::uint64_t{settings.packs_per_window} + lookahead_of(settings).packs) *
         settings.capacity;
}

bool wants_more(const PackSettings& settings, std::span<const Candidate> candidates, Reach& reach) {
  look_on(settings, lookahead_of(settings), candidates, reach);
  return !reach.enough;
}

bool wants_more(const PackSettings& settings, std::span<const Candidate> candidates) {
  Reach reach;
  return wants_more(settings, candidates, reach);
}

Closing close_window(const PackSettings& settings, Planner& planner, std::uint64_t epoch,
                     std::uint64_t window, std::span<const Candidate> candidates, bool at_end) {
  PL_CHECK(candidates.size() < UINT32_MAX);
  PL_CHECK(at_end || !wants_more(settings, candidates));
  if (settings.strategy == Strategy::kWrapped) return close_wrapped(settings, candidates, at_end);
  Candidates c{candidates, {}};
  c.sizes.reserve(candidates.size());
  for (const Candidate& candidate : candidates) c.sizes.push_back(size_of(settings, candidate));
  OpenWindow w = settings.strategy == Strategy::kSequential ? close_sequential(settings, c, at_end)
                 : settings.strategy == Strategy::kSpread
                     ? close_spread(settings, planner, c, at_end)
                     : close_best_fit(settings, planner, c, at_end);
  // by kind, each kind has been brought to a multiple already
  if (w.last && !settings.same_kind) bring_to_multiple(settings, c, w);
  std::vector<std::vector<Placed>> packs = placed_in(w, candidates);
  repeat(packs, w.again, candidates.size());
  put_in_order(settings, epoch, window, candidates, packs);
  Closing closing = emitted(packs);
  for (const std::uint32_t lost : w.lost)
    closing.lost.push_back({lost, 0, candidates[lost].tokens, 0});
  closing.considered = w.considered;
  closing.last = w.last;
  return closing;
}

}  // namespace packline

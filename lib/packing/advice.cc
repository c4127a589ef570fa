#include "lib/packing/advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/check.h"
#include "lib/packing/open_window.h"
#include "lib/packing/pack_order.h"

namespace packline {

void LengthCounts::add(std::uint32_t tokens, std::uint64_t samples) {
  if (samples == 0) return;
  counts_[tokens] += samples;
  samples_ += samples;
  tokens_ += samples * tokens;
  longest_ = std::max(longest_, tokens);
}

std::vector<std::pair<std::uint32_t, std::uint64_t>> LengthCounts::ascending() const {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> all(counts_.begin(), counts_.end());
  std::sort(all.begin(), all.end());
  return all;
}

void StepBalance::add(std::span<const std::uint64_t> costs) {
  if (costs.empty()) return;
  double sum = 0, most = 0;
  for (const std::uint64_t cost : costs) {
    sum += static_cast<double>(cost);
    most = std::max(most, static_cast<double>(cost));
  }
  const double mean = sum / static_cast<double>(costs.size());
  const double ratio = sum > 0 ? most / mean : 1;
  ++steps_;
  ratios_ += ratio;
  worst_ = std::max(worst_, ratio);
  means_ += mean;
  most_ += most;
  // A ratio of 1.05 as it is computed may lie just below.
  ++bins_[std::min(kBins - 1, static_cast<std::size_t>((ratio - 1) * kBins + 1e-9))];
}

void add_steps(std::span<const std::uint64_t> costs, std::uint32_t dp_size, StepBalance& balance) {
  for (std::size_t at = 0; at < costs.size(); at += dp_size)
    balance.add(costs.subspan(at, std::min<std::size_t>(dp_size, costs.size() - at)));
}

std::vector<std::uint64_t> balanced_costs(const PackSettings& settings, std::uint64_t epoch,
                                          std::uint64_t window,
                                          std::span<const std::uint64_t> costs,
                                          const std::vector<bool>& media) {
  PackSettings balanced = settings;
  balanced.balance = Balance::kAttention;
  std::vector<PackCost> packs(costs.size());
  for (std::size_t k = 0; k < costs.size(); ++k) packs[k] = {costs[k], media[k]};
  std::vector<std::uint64_t> ordered;
  ordered.reserve(costs.size());
  for (const std::uint32_t k : pack_order(balanced, epoch, window, packs))
    ordered.push_back(costs[k]);
  return ordered;
}

std::optional<PackSettings> with_default_look_ahead(const PackSettings& settings) {
  if (!looks_ahead(settings.strategy) || settings.plan == PlanKind::kGlobal) return {};
  const PackSettings defaults;
  PackSettings more = settings;
  more.lookahead_packs = std::max(settings.lookahead_packs, settings.packs_per_window);
  more.lookahead_samples_max =
      std::max(settings.lookahead_samples_max, defaults.lookahead_samples_max);
  more.lookahead_windows_max =
      std::max(settings.lookahead_windows_max, defaults.lookahead_windows_max);
  const bool same = more.lookahead_packs == settings.lookahead_packs &&
                    more.lookahead_samples_max == settings.lookahead_samples_max &&
                    more.lookahead_windows_max == settings.lookahead_windows_max;
  if (same) return {};
  return more;
}

LengthTrial::LengthTrial(const PackSettings& settings, std::uint32_t lanes)
    : settings_(settings), planner_(settings), lanes_(lanes) {
  PL_CHECK(looks_ahead(settings.strategy));
}

void LengthTrial::close(Lane& lane, bool at_end, bool& last) {
  std::vector<Candidate>& candidates = lane.candidates;
  // The order of packs is of no matter here, so neither are epoch and window.
  const Closing closing = close_window(settings_, planner_, 0, 0, candidates, at_end);
  last = closing.last;
  packs_ += closing.packs.size();
  std::vector<bool> taken(candidates.size());
  for (const Placed& p : closing.placed) {
    taken[p.candidate] = true;
    tokens_ += p.end - p.begin;
  }
  for (const Placed& p : closing.lost) taken[p.candidate] = true;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (taken[i]) continue;
    if (i < closing.considered || candidates[i].age > 0) ++candidates[i].age;
    candidates[kept++] = candidates[i];
  }
  candidates.resize(kept);
  lane.reach = {};
}

void LengthTrial::add(std::uint32_t lane, std::span<const Sample> samples, bool at_end) {
  Lane& l = lanes_[lane];
  bool last = false;
  for (const Sample& s : samples) {
    l.candidates.push_back({s.tokens, 0, 0, s.media});
    if (!wants_more(settings_, l.candidates, l.reach)) close(l, false, last);
  }
  while (at_end && !last) close(l, true, last);
}

double LengthTrial::fill() const {
  const double room = static_cast<double>(packs_) * settings_.capacity;
  return room > 0 ? static_cast<double>(tokens_) / room : 0;
}

std::string too_few_packs(std::uint64_t packs, std::uint32_t dp_size,
                          std::uint32_t packs_per_optimizer_step) {
  const std::uint64_t needed = std::uint64_t{dp_size} * packs_per_optimizer_step;
  if (packs >= needed) return "";
  if (packs == 0) return "there is not one pack, so training would do nothing";
  return fmt::format(
      "{} packs are fewer than an optimizer step takes, {} (deliver.dp_size {} x "
      "deliver.packs_per_optimizer_step {}), so training would do nothing; lower one of these or "
      "pack.capacity, or add data",
      packs, needed, dp_size, packs_per_optimizer_step);
}

}  // namespace packline

#include "lib/packing/open_window.h"

#include <algorithm>

namespace packline {

std::uint32_t rounded_up(std::uint32_t n, std::uint32_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

void look_on(const PackSettings& settings, LookAhead ahead, std::span<const Candidate> candidates,
             Reach& reach) {
  const std::uint64_t packs = std::uint64_t{settings.packs_per_window} + ahead.packs;
  const std::uint64_t window = std::uint64_t{settings.packs_per_window} * settings.capacity;
  const std::uint64_t most = packs * settings.capacity;
  const std::uint64_t samples =
      settings.max_samples == 0 ? UINT64_MAX : packs * settings.max_samples + 1;
  Reach r = reach;  // a local, so that it stays in registers
  while (r.seen < candidates.size() && !r.enough) {
    if (r.tokens > window) ++r.beyond;
    r.tokens += size_of(settings, candidates[r.seen++]);
    r.enough =
        r.tokens > most || (r.tokens > window && r.beyond >= ahead.samples) || r.seen == samples;
  }
  reach = r;
}

std::vector<BinState> states_of(const PackSettings& settings, const Candidates& candidates,
                                const Plan& plan) {
  std::vector<BinState> bins(plan.bins);
  for (std::uint32_t b = 0; b < plan.bins; ++b) bins[b].bin = b;
  for (std::uint32_t i = 0; i < plan.bin_of.size(); ++i) {
    BinState& bin = bins[plan.bin_of[i]];
    bin.tokens += candidates.sizes[i];
    ++bin.samples;
    bin.old |= candidates.all[i].age >= settings.lookahead_windows_max;
    bin.media |= candidates.all[i].media;
  }
  return bins;
}

// Bins that are as good as equally full are not told apart by tokens: of these the ones with many
// samples go, so that few samples are carried.
bool preferred(std::uint32_t capacity, const BinState& a, const BinState& b) {
  const auto free = [&](const BinState& s) { return (capacity - s.tokens) * 1024 / capacity; };
  if (a.old != b.old) return a.old;
  if (const auto fa = free(a), fb = free(b); fa != fb) return fa < fb;
  return a.samples != b.samples ? a.samples > b.samples : a.bin < b.bin;
}

}  // namespace packline

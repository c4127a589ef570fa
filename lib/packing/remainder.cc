// Section 5.3 of docs/stream.md: a last window's bins become a multiple of dp_size_multiple.

#include <algorithm>

#include "lib/packing/open_window.h"

namespace packline {
namespace {

void drop_some(const PackSettings& settings, const Candidates& candidates, std::uint32_t target,
               OpenWindow& w) {
  std::vector<BinState> states(w.bins.size());
  for (std::uint32_t b = 0; b < w.bins.size(); ++b) {
    states[b].bin = b;
    states[b].samples = static_cast<std::uint32_t>(w.bins[b].size());
    for (const std::uint32_t s : w.bins[b]) states[b].tokens += candidates.sizes[s];
  }
  if (!keeps_order(settings.strategy)) {
    std::sort(states.begin(), states.end(), [&](const BinState& a, const BinState& b) {
      return preferred(settings.capacity, a, b);
    });
  }
  std::vector<bool> kept(w.bins.size());
  for (std::uint32_t i = 0; i < target; ++i) kept[states[i].bin] = true;
  Bins bins;
  for (std::uint32_t b = 0; b < w.bins.size(); ++b) {
    if (kept[b]) {
      bins.push_back(std::move(w.bins[b]));
    } else {
      w.lost.insert(w.lost.end(), w.bins[b].begin(), w.bins[b].end());
    }
  }
  std::sort(w.lost.begin(), w.lost.end());
  w.bins = std::move(bins);
}

}  // namespace

void bring_to_multiple(const PackSettings& settings, const Candidates& candidates, OpenWindow& w) {
  const auto bins = static_cast<std::uint32_t>(w.bins.size());
  const std::uint32_t up = rounded_up(bins, settings.dp_size_multiple);
  if (up == bins) return;
  switch (settings.remainder) {
    case Remainder::kSpread:
      w.bins =
          settings.strategy == Strategy::kSequential
              ? spread_in_order(candidates.sizes, std::move(w.bins), up)
              : spread(candidates.sizes, w.bins, up, {settings.capacity, settings.max_samples});
      break;
    case Remainder::kDrop:
      drop_some(settings, candidates, up - settings.dp_size_multiple, w);
      break;
    case Remainder::kRepeat:
      for (std::uint32_t i = 0; bins + i < up; ++i) w.again.push_back(i % bins);
      break;
  }
}

}  // namespace packline

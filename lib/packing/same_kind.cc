// Section 5.2 of docs/stream.md, same_kind: packs with media rows and packs without never share a
// group of dp_size_multiple packs.

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/packing/open_window.h"

namespace packline {
namespace {

// Bins that would come and go, as places in the order of preference.
struct Exchange {
  std::vector<std::uint32_t> go, come;

  std::int64_t cost() const {
    std::int64_t cost = 0;
    for (const std::uint32_t place : come) cost += place;
    for (const std::uint32_t place : go) cost -= place;
    return cost;
  }
};

// `n` of the bins taken (the first `taken` of the order) of one kind go, the least preferred first;
// as many of the other kind come, the most preferred first.
std::optional<Exchange> exchange(const std::vector<BinState>& order, std::uint32_t taken,
                                 std::uint32_t n, bool media_goes) {
  Exchange e;
  for (std::uint32_t i = taken; i-- > 0 && e.go.size() < n;)
    if (order[i].media == media_goes) e.go.push_back(i);
  for (std::uint32_t i = taken; i < order.size() && e.come.size() < n; ++i)
    if (order[i].media != media_goes) e.come.push_back(i);
  if (e.go.size() < n || e.come.size() < n) return std::nullopt;
  return e;
}

// The candidates of one kind: which they are, and their bins.
struct Kind {
  std::vector<std::uint32_t> candidates;
  std::vector<std::uint32_t> sizes;
};

Kind kind_of(const Candidates& candidates, std::uint32_t n, bool media) {
  Kind kind;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (candidates.all[i].media != media) continue;
    kind.candidates.push_back(i);
    kind.sizes.push_back(candidates.sizes[i]);
  }
  return kind;
}

// The bins of one kind, as candidates, brought to `target` bins, or by the remainder's policy.
void add_kind(const PackSettings& settings, const Candidates& candidates, Planner& planner,
              const Kind& kind, std::optional<std::uint32_t> target, bool media, OpenWindow& w) {
  Bins bins = bins_of(planner.plan(kind.sizes));
  if (target) {
    bins = spread(kind.sizes, bins, *target, {settings.capacity, settings.max_samples});
  }
  for (auto& bin : bins)
    for (std::uint32_t& s : bin) s = kind.candidates[s];
  OpenWindow part;
  part.bins = std::move(bins);
  if (!target) bring_to_multiple(settings, candidates, part);

  const auto before = static_cast<std::uint32_t>(w.bins.size());
  std::size_t next = 0;
  for (std::uint32_t b = 0; b < part.bins.size(); ++b) {
    if (media && part.bins[b].empty()) {
      w.more.emplace_back(before + b, kind.candidates[next]);
      next = (next + 1) % kind.candidates.size();
    }
    w.bins.push_back(std::move(part.bins[b]));
  }
  for (const std::uint32_t again : part.again) w.again.push_back(before + again);
  w.lost.insert(w.lost.end(), part.lost.begin(), part.lost.end());
}

}  // namespace

std::vector<std::uint32_t> choose_by_exchange(const PackSettings& settings,
                                              std::vector<BinState> bins) {
  const std::uint32_t wanted = settings.packs_per_window;
  const std::uint32_t multiple = settings.dp_size_multiple;
  std::sort(bins.begin(), bins.end(), [&](const BinState& a, const BinState& b) {
    return preferred(settings.capacity, a, b);
  });
  const auto media = static_cast<std::uint32_t>(std::count_if(
      bins.begin(), bins.begin() + wanted, [](const BinState& b) { return b.media; }));
  std::vector<bool> taken(bins.size());
  std::fill_n(taken.begin(), wanted, true);
  if (const std::uint32_t r = media % multiple; r > 0) {
    const auto less = exchange(bins, wanted, r, true);
    const auto more = exchange(bins, wanted, multiple - r, false);
    if (!less && !more) return {};
    const Exchange& e = less && (!more || less->cost() <= more->cost()) ? *less : *more;
    for (const std::uint32_t i : e.go) taken[i] = false;
    for (const std::uint32_t i : e.come) taken[i] = true;
  }
  std::vector<std::uint32_t> chosen;
  for (std::size_t i = 0; i < bins.size(); ++i)
    if (taken[i]) chosen.push_back(bins[i].bin);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

OpenWindow close_by_kind(const PackSettings& settings, Planner& planner,
                         const Candidates& candidates, bool at_end) {
  const std::uint32_t wanted = settings.packs_per_window;
  const auto bins_for = [&](const Kind& kind) {
    return rounded_up(planner.count_bins(kind.sizes, wanted), settings.dp_size_multiple);
  };
  OpenWindow w;
  w.considered = prefix_for(settings, candidates, {}, [&](std::uint32_t x) {
    return std::uint64_t{bins_for(kind_of(candidates, x, true))} +
               bins_for(kind_of(candidates, x, false)) <=
           wanted;
  });
  w.last = at_end && w.considered == candidates.sizes.size();
  const Kind media = kind_of(candidates, w.considered, true);
  const Kind others = kind_of(candidates, w.considered, false);
  std::optional<std::uint32_t> of_media, of_others;
  if (!w.last) {
    of_media = bins_for(media);
    of_others = bins_for(others);
    (*of_others > 0 ? *of_others : *of_media) += wanted - *of_media - *of_others;
  }
  add_kind(settings, candidates, planner, media, of_media, true, w);
  add_kind(settings, candidates, planner, others, of_others, false, w);
  std::sort(w.lost.begin(), w.lost.end());
  return w;
}

}  // namespace packline

#include "lib/packing/pack_order.h"

#include <algorithm>
#include <numeric>

#include "lib/base/check.h"
#include "lib/base/random.h"

namespace packline {
namespace {

// Each group of `size`, then the groups.
std::vector<std::uint32_t> shuffled_groups(std::vector<std::uint32_t> order, std::uint32_t size,
                                           Rng& rng) {
  std::vector<std::vector<std::uint32_t>> groups;
  for (std::size_t at = 0; at < order.size(); at += size) {
    const std::size_t end = std::min(order.size(), at + size);
    groups.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(at),
                        order.begin() + static_cast<std::ptrdiff_t>(end));
  }
  for (auto& group : groups) shuffle(group, rng);
  shuffle(groups, rng);
  order.clear();
  for (const auto& group : groups) order.insert(order.end(), group.begin(), group.end());
  return order;
}

}  // namespace

std::vector<std::uint32_t> pack_order(const PackSettings& settings, std::uint64_t epoch,
                                      std::uint64_t window, std::span<const PackCost> packs) {
  std::vector<std::uint32_t> order(packs.size());
  std::iota(order.begin(), order.end(), 0U);
  if (keeps_order(settings.strategy)) return order;
  const std::uint64_t drawn_in = settings.alike_epochs ? 0 : epoch;
  Rng rng(
      derive(settings.seed, {static_cast<std::uint64_t>(Purpose::kPackOrder), drawn_in, window}));
  const bool balanced = settings.balance == Balance::kAttention;
  if (!balanced && !settings.same_kind) {
    shuffle(order, rng);
    return order;
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (settings.same_kind && packs[a].media != packs[b].media) return packs[a].media;
    if (balanced && packs[a].cost != packs[b].cost) return packs[a].cost > packs[b].cost;
    return a < b;
  });
  return shuffled_groups(std::move(order), settings.dp_size_multiple, rng);
}

void put_in_order(const PackSettings& settings, std::uint64_t epoch, std::uint64_t window,
                  std::span<const Candidate> candidates, std::vector<std::vector<Placed>>& packs) {
  if (keeps_order(settings.strategy)) return;
  std::vector<PackCost> costs(packs.size());
  for (std::size_t k = 0; k < packs.size(); ++k) {
    for (const Placed& p : packs[k]) {
      costs[k].cost += cost_of(settings, p.end - p.begin);
      costs[k].media |= candidates[p.candidate].media;
    }
  }
  std::vector<std::vector<Placed>> ordered;
  ordered.reserve(packs.size());
  for (const std::uint32_t k : pack_order(settings, epoch, window, costs))
    ordered.push_back(std::move(packs[k]));
  packs = std::move(ordered);
}

}  // namespace packline

#include "lib/delivery/leases.h"

#include <algorithm>
#include <tuple>

namespace packline {

bool Leases::running(const WindowKey& key, std::uint32_t dp_rank, Instant now) const {
  const auto it = leases_.find({key, dp_rank});
  return it != leases_.end() && now < it->second.until;
}

bool Leases::start(const WindowKey& key, std::uint32_t dp_rank, Instant now) {
  Lease& l = leases_[{key, dp_rank}];
  l.key = key;
  l.dp_rank = dp_rank;
  l.sent = now;
  l.until = now + lease_ * (1 << std::min(l.tries, 3u));
  return l.tries++ > 0;
}

void Leases::drop_rank(std::uint32_t dp_rank) {
  std::erase_if(leases_, [&](const auto& l) { return l.second.dp_rank == dp_rank; });
}

void Leases::drop_below(const WindowKey& floor) {
  // Ordered by (lane, epoch, index): one lane's leases stand together.
  const auto from = leases_.lower_bound({WindowKey{floor.lane, 0, 0}, 0});
  leases_.erase(from, leases_.lower_bound({floor, 0}));
}

std::vector<Leases::Lease> Leases::oldest() const {
  std::vector<Lease> all;
  all.reserve(leases_.size());
  for (const auto& [id, lease] : leases_) all.push_back(lease);
  std::ranges::sort(all, {}, [](const Lease& l) { return std::tuple(l.sent, l.key, l.dp_rank); });
  return all;
}

}  // namespace packline

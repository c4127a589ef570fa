#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lib/base/instant.h"
#include "lib/delivery/place.h"

namespace packline {

// Which windows are on their way to which dp_rank, and until when nothing is done about it. A sent
// message proves nothing; a lease only says when to send it again. Each further try of one window
// to one rank doubles the lease, up to 8 times the first.
class Leases {
 public:
  struct Lease {
    WindowKey key;
    std::uint32_t dp_rank = 0;
    Instant sent{};  // last
    Instant until{};
    std::uint32_t tries = 0;
  };

  explicit Leases(Duration lease) : lease_(lease) {}

  bool running(const WindowKey& key, std::uint32_t dp_rank, Instant now) const;

  // It was sent now. Returns true when it had been sent before.
  bool start(const WindowKey& key, std::uint32_t dp_rank, Instant now);

  void drop_rank(std::uint32_t dp_rank);    // its sink lives anew: it got nothing
  void drop_below(const WindowKey& floor);  // windows of floor.lane below floor

  // The leases that were not dropped, longest since sent first.
  std::vector<Lease> oldest() const;

 private:
  using Id = std::pair<WindowKey, std::uint32_t>;
  Duration lease_;
  std::map<Id, Lease> leases_;
};

}  // namespace packline

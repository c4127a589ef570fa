#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "lib/base/instant.h"
#include "lib/wire/messages.h"

namespace packline {

// The newest report of each dp_rank, and when it came (rule P1). Two lives of one sink may report
// in turn after a partition; the one its trainer spoke to last is followed, and no rule compares
// the clocks of two sinks.
class RankReports {
 public:
  struct Entry {
    Report report;
    Instant at{};
  };
  enum class Verdict : std::uint8_t { kStale, kNewer, kNewSession };

  explicit RankReports(Duration silent) : silent_(silent) {}

  // Keeps the report unless it is stale. kNewSession: another life of that rank's sink took over.
  Verdict take(const Report& r, Instant now);

  const std::map<std::uint32_t, Entry>& all() const { return ranks_; }

  // The rank with the lowest place in the lane, of those that have a place; none before that.
  std::optional<std::uint32_t> slowest_in(std::uint32_t lane) const;

  // That rank's place of the lane; nullptr when it has none yet.
  static const Place* place_of(const Report& r, std::uint32_t lane);

 private:
  bool newer(const Report& r, const Entry& old, Instant now) const;

  Duration silent_;
  std::map<std::uint32_t, Entry> ranks_;
};

}  // namespace packline

#pragma once

#include <cstdint>
#include <vector>

#include "lib/delivery/ledger.h"
#include "lib/delivery/place.h"

namespace packline {

struct EpochTally {
  std::uint64_t epoch = 0;
  Tally tally;
  bool operator==(const EpochTally&) const = default;
};

// What a trainer rank was handed since it began, for the summary. `epochs` has the present epoch,
// and in a Subscribe that says done every epoch (the latest 64).
struct Progress {
  StreamPoint from, to;
  Tally total;
  std::vector<EpochTally> epochs;
};

}  // namespace packline

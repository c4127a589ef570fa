#pragma once

#include <cstdint>

#include "lib/base/result.h"
#include "lib/delivery/ledger.h"

namespace packline {

// Law L4, docs/stream.md section 8: do the three ledgers of a whole epoch balance against what was
// delivered, over all ranks? Else kBug and a sentence that names each one that does not, with both
// of its numbers.
Status check_ledger(const Ledger& ledger, std::uint64_t samples_delivered,
                    std::uint64_t tokens_delivered);

}  // namespace packline

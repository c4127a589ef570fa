#pragma once

#include <cstdint>

#include "lib/sample/samples.h"

namespace packline {

// h(pack) of law L1, as docs/stream.md section 7 spells it out byte by byte. `index` is the pack's
// place in its window, over all ranks.
std::uint64_t pack_digest(std::uint64_t epoch, std::uint64_t window, std::uint64_t index,
                          const Samples& pack);

}  // namespace packline

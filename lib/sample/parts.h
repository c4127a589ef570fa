#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/sample/samples.h"

namespace packline {

// Cuts a group into runs: counts[i] samples each, one run after the other; their sum is the group's
// size. The runs share the group's bytes, nothing but ids and rows is copied.
std::vector<Samples> runs_of(const Samples& samples, std::span<const std::uint32_t> counts);

// Tokens [begin, end) of one sample, begin < end <= its length, as a group of its own: per-token
// columns and spans are cut, spans counted from the new start. Ragged and opaque columns stay whole
// where `keeps_rows`, else the part has no rows of them. The id is the sample's own.
Samples part_of(const Samples& samples, std::uint32_t sample, std::uint32_t begin,
                std::uint32_t end, bool keeps_rows);

}  // namespace packline

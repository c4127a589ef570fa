#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace packline {

// The samples of each bin, as indices into the sizes given, ascending within a bin; bins in the
// order in which they were opened. docs/stream.md section 5 is the exact definition of everything
// here.
using Bins = std::vector<std::vector<std::uint32_t>>;

using Sizes = std::span<const std::uint32_t>;

// What a bin takes at most.
struct BinLimit {
  std::uint32_t capacity = 0;     // tokens
  std::uint32_t max_samples = 0;  // 0 = no limit

  bool takes(std::uint64_t tokens, std::size_t samples) const {
    return tokens <= capacity && (max_samples == 0 || samples <= max_samples);
  }
};

// Next fit in the order given: a sample that does not fit closes the bin for good. Stops before the
// bin `limit` + 1 would be opened; `taken` is how many samples were placed.
Bins next_fit(Sizes sizes, BinLimit bin, std::uint32_t limit, std::uint32_t& taken);

// Samples, largest first, each to the bin with the least total; nothing when one does not fit
// there. Exactly `target` bins.
std::optional<Bins> spread_evenly(Sizes sizes, std::uint32_t target, BinLimit bin);

// Exactly `target` bins, target >= bins.size(), of the samples in `bins`: as they are when they are
// that many; else spread evenly if that goes, else by halving the fullest; empty bins follow when
// no bin can be halved.
Bins spread(Sizes sizes, const Bins& bins, std::uint32_t target, BinLimit bin);

// The latter alone: until there are `target`, the fullest bin of two samples or more is halved.
Bins halve(Sizes sizes, Bins bins, std::uint32_t target);

// The same for bins whose samples keep their order: the fullest is cut in two where it stands.
Bins spread_in_order(Sizes sizes, Bins bins, std::uint32_t target);

}  // namespace packline

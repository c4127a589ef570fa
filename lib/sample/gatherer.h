#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/sample/samples.h"

namespace packline {

// Gathers many selections of one group of samples: where each sample's items begin is computed once
// for all of them, so a selection costs one memcpy a sample and column. Holds a reference to the
// group, which must keep the invariant, live as long and not change. gather() may be called from
// several threads at once.
class Gatherer {
 public:
  explicit Gatherer(const Samples& samples);

  // The chosen samples, in the order of `chosen` (any order, repeats allowed), as a group of their
  // own that shares no bytes with this one. Every column is kept.
  Samples gather(std::span<const std::uint32_t> chosen) const;

 private:
  Column gather_column(std::size_t c, std::span<const std::uint32_t> chosen) const;
  const std::vector<std::uint64_t>& starts_of(std::size_t c) const;

  const Samples& samples_;
  std::vector<std::uint64_t> tokens_;             // before sample i; size() + 1 entries
  std::vector<std::vector<std::uint64_t>> rows_;  // likewise, of the columns that have rows
};

}  // namespace packline

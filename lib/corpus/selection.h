#pragma once

#include <cstdint>

#include "lib/base/random.h"

namespace packline {

// Which records a stream is made of: docs/stream.md section 3, "Evaluation". Records that it does
// not take keep their places in the order and are passed over.
struct Selection {
  std::uint64_t threshold = 0;  // of 2^64 records so many are set aside; 0 = none
  std::uint64_t seed = 0;
  bool set_aside = false;  // takes those, else the others

  bool takes(std::uint32_t source, std::uint64_t record) const {
    if (threshold == 0) return !set_aside;
    const std::uint64_t h =
        derive(seed, {static_cast<std::uint64_t>(Purpose::kEvaluation), source, record});
    return (h < threshold) == set_aside;
  }
};

}  // namespace packline

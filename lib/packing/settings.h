#pragma once

#include <cstdint>

namespace packline {

enum class Strategy : std::uint8_t { kBestFitDecreasing, kSequential };
enum class OverLong : std::uint8_t { kDrop, kError, kTruncateRight };
enum class Remainder : std::uint8_t { kSpread };

// The job's `pack` section and what else determines the packs.
struct PackSettings {
  std::uint64_t seed = 0;
  std::uint32_t capacity = 8192;  // tokens
  Strategy strategy = Strategy::kBestFitDecreasing;
  std::uint32_t packs_per_window = 256;
  std::uint32_t lookahead_packs = 256;        // default: packs_per_window
  std::uint32_t lookahead_samples_max = 256;  // and no more samples than this beyond the window
  std::uint32_t lookahead_windows_max = 8;    // for how many windows a sample may be left
  OverLong over_long = OverLong::kDrop;
  std::uint32_t dp_size_multiple = 1;  // divides packs_per_window
  Remainder remainder = Remainder::kSpread;
};

}  // namespace packline

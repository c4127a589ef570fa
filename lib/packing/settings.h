#pragma once

#include <cstdint>

namespace packline {

enum class Strategy : std::uint8_t {
  kBestFitDecreasing,
  kFirstFitDecreasing,
  kSequential,
  kWrapped,
  kSpread,
};
enum class OverLong : std::uint8_t { kDrop, kError, kTruncateRight, kTruncateLeft, kSplit };
enum class Remainder : std::uint8_t { kSpread, kDrop, kRepeat };
enum class Balance : std::uint8_t { kNone, kAttention };
enum class PlanKind : std::uint8_t { kStreaming, kGlobal };

// Whether packs stand in the order of the samples, which nothing may change then.
constexpr bool keeps_order(Strategy s) {
  return s == Strategy::kSequential || s == Strategy::kWrapped;
}
// Whether a window plans more samples than it takes, and leaves some for later.
constexpr bool looks_ahead(Strategy s) {
  return s == Strategy::kBestFitDecreasing || s == Strategy::kFirstFitDecreasing;
}

// The job's `pack` section and what else determines the packs.
struct PackSettings {
  std::uint64_t seed = 0;
  std::uint32_t capacity = 8192;  // tokens
  Strategy strategy = Strategy::kBestFitDecreasing;
  PlanKind plan = PlanKind::kStreaming;
  bool replan_each_epoch = false;  // of a global plan
  std::uint32_t packs_per_window = 256;
  std::uint32_t lookahead_packs = 256;        // default: packs_per_window
  std::uint32_t lookahead_samples_max = 256;  // and no more samples than this beyond the window
  std::uint32_t lookahead_windows_max = 8;    // for how many windows a sample may be left
  std::uint32_t max_samples = 0;              // of a pack; 0 = no limit
  std::uint32_t sample_multiple_of = 1;       // tokens; divides the capacity
  std::uint32_t pad_to_multiple_of = 1;       // tokens; what layouts bring a pack's length to
  std::int32_t pad_id = 0;                    // the token id of padding
  OverLong over_long = OverLong::kDrop;
  bool drop_unsupervised = false;
  Balance balance = Balance::kNone;
  std::uint32_t cost_per_token = 0;  // a of the cost a * L + L^2 of a sample of L tokens
  bool same_kind = false;
  std::uint32_t dp_size_multiple = 1;  // divides packs_per_window
  Remainder remainder = Remainder::kSpread;
  bool alike_epochs = false;  // the order of the packs is that of epoch 0 in all (the eval split)
};

}  // namespace packline

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/job.h"
#include "lib/delivery/ledger.h"
#include "lib/windows/epoch_details.h"
#include "lib/windows/window_maker.h"

namespace packline {

// What an epoch of a job is, counted without delivering it.
struct EpochCount {
  static constexpr std::size_t kLengthBins = 32;
  static constexpr std::size_t kFillBins = 20;

  std::uint64_t epoch = 0;
  std::uint32_t capacity = 0;  // tokens
  std::uint64_t windows = 0;   // empty ones too
  std::uint64_t packs = 0;     // over all dp_ranks
  std::uint64_t samples = 0;   // delivered
  std::uint64_t tokens = 0;    // delivered, no padding
  Ledger ledger;
  std::vector<Tally> ranks;         // one a dp_rank, as each trainer rank would count
  std::uint64_t stream_digest = 0;  // the sum of the ranks' digests
  // Samples by length: bin i holds lengths in (i * capacity / 32, (i + 1) * capacity / 32].
  std::array<std::uint64_t, kLengthBins> lengths{};
  // Packs by fill: bin i holds fills in [i / 20, (i + 1) / 20); full ones are in the last.
  std::array<std::uint64_t, kFillBins> fills{};
  std::uint64_t next_fit_packs = 0;  // of the same samples in order, each closing the row it misses
  EpochDetails details;

  std::uint64_t steps() const { return ranks.empty() ? 0 : packs / ranks.size(); }
  // 0..1; 0 without packs.
  double fill() const { return fill_of(packs); }
  double next_fit_fill() const { return fill_of(next_fit_packs); }
  double one_a_row_fill() const { return fill_of(samples); }
  // No packing has fewer packs than this, nor a better fill.
  std::uint64_t packs_at_least() const { return (tokens + capacity - 1) / capacity; }
  double best_fill() const { return fill_of(packs_at_least()); }

 private:
  double fill_of(std::uint64_t rows) const;
};

// Walks one epoch of the job, window after window in the order of delivery, packs each as a packer
// would and counts what the trainer ranks would be handed; the digests are those of the line.
// `on_window` is called after each window with what was counted so far; `on_loss` for each loss.
// Errors: those of WindowMaker::make().
class EpochCounter {
 public:
  // `maker` must outlive it.
  EpochCounter(const Job& job, WindowMaker& maker);
  Result<EpochCount> count(std::uint64_t epoch);

  std::function<void(const EpochCount&)> on_window;
  std::function<void(const Loss&)> on_loss;

 private:
  void add_window(const ClosedWindow& window, const std::vector<Samples>& packs, EpochCount& count);
  void add_next_fit(const ClosedWindow& window, EpochCount& count);

  const Job job_;
  const JobShape shape_;
  const PackSettings pack_;
  WindowMaker& maker_;
  std::uint64_t open_row_ = 0;  // tokens in the row that next fit would have open
};

}  // namespace packline

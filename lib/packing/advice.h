#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/packing/closing.h"
#include "lib/packing/planner.h"
#include "lib/packing/settings.h"

// What an epoch's lengths say about the settings they are packed with. Nothing here decides a pack.

namespace packline {

// How many samples have which length. Memory: some 40 bytes for each length that occurs.
class LengthCounts {
 public:
  void add(std::uint32_t tokens, std::uint64_t samples = 1);

  std::uint64_t samples() const { return samples_; }
  std::uint64_t tokens() const { return tokens_; }
  std::uint32_t longest() const { return longest_; }  // 0 without samples
  // (length, samples), shortest first.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> ascending() const;

 private:
  std::unordered_map<std::uint32_t, std::uint64_t> counts_;
  std::uint64_t samples_ = 0, tokens_ = 0;
  std::uint32_t longest_ = 0;
};

// What a capacity makes of an epoch's lengths, all of it planned at once.
struct CapacityFit {
  std::uint32_t capacity = 0;        // tokens
  std::uint64_t packs = 0;           // by best fit decreasing
  std::uint64_t packs_at_least = 0;  // no plan has fewer
  std::uint64_t samples = 0;         // that are packed
  std::uint64_t tokens = 0;          // of those, without padding
  // Samples longer than the capacity, and their tokens that pack.over_long would lose or cut off.
  std::uint64_t over_long_samples = 0;
  std::uint64_t tokens_gone = 0;

  double fill() const { return fill_of(packs); }  // 0..1
  double best_fill() const { return fill_of(packs_at_least); }

 private:
  double fill_of(std::uint64_t packs) const;
};

// Best fit decreasing, counted: the same number of packs as Planner has for the samples, brought up
// to a multiple of dp_size_multiple unless the remainder is dropped. `packs_at_least` is Martello
// and Toth's bound L2 (1990): samples that cannot share a pack have one each, and what is left of
// the others' sizes does not fit beside them; with max_samples also by their number. Of `wrapped`,
// which cuts samples, both are the tokens over the capacity.
// `capacity` is a multiple of sample_multiple_of. Time: about the number of lengths that occur.
CapacityFit fit_at(const LengthCounts& lengths, const PackSettings& settings,
                   std::uint32_t capacity);

// The capacities worth a look beside the job's: half, three quarters, five quarters, one and a half
// and twice as much, and the longest sample's length, ascending, the job's own among them. Each is
// a multiple of sample_multiple_of and pad_to_multiple_of (of the former alone where packs are
// padded to the capacity itself), at most what a job may say.
constexpr std::uint64_t kCapacityMost = 16'777'216;
std::vector<std::uint32_t> capacities_around(const PackSettings& settings, std::uint32_t longest);

// How equal the work of a step's packs is: the costliest over the mean, since the ranks wait for
// that one. Running sums only.
class StepBalance {
 public:
  static constexpr std::size_t kBins = 20;

  void add(std::span<const std::uint64_t> costs);  // of the packs of one step

  std::uint64_t steps() const { return steps_; }
  double mean() const { return steps_ == 0 ? 1 : ratios_ / static_cast<double>(steps_); }
  double worst() const { return worst_; }
  // The share of all ranks' time that is spent waiting for the costliest, 0..1.
  double waiting() const { return most_ == 0 ? 0 : 1 - means_ / most_; }
  // Steps by that ratio: bin i holds [1 + i / 20, 1 + (i + 1) / 20); the last one all above, too.
  const std::array<std::uint64_t, kBins>& bins() const { return bins_; }

 private:
  std::uint64_t steps_ = 0;
  double ratios_ = 0, worst_ = 1, means_ = 0, most_ = 0;
  std::array<std::uint64_t, kBins> bins_{};
};

// Adds each step of a window whose packs have these costs, in the order of delivery.
void add_steps(std::span<const std::uint64_t> costs, std::uint32_t dp_size, StepBalance& balance);

// The costs of the same packs in the order that `balance: attention` would give them. Exactly so
// where dp_size is dp_size_multiple and windows are planned one by one; else about so.
std::vector<std::uint64_t> balanced_costs(const PackSettings& settings, std::uint64_t epoch,
                                          std::uint64_t window,
                                          std::span<const std::uint64_t> costs,
                                          const std::vector<bool>& media);

// The settings with the default look-ahead, where they have less of it; else nothing.
std::optional<PackSettings> with_default_look_ahead(const PackSettings& settings);

// Packs lanes again by other settings, by lengths alone. `strategy` must look ahead. Memory: what a
// lane's window looks at, 16 bytes a sample.
class LengthTrial {
 public:
  LengthTrial(const PackSettings& settings, std::uint32_t lanes);

  // The samples that follow in a lane; `at_end` after its last.
  struct Sample {
    std::uint32_t tokens = 0;
    bool media = false;
  };
  void add(std::uint32_t lane, std::span<const Sample> samples, bool at_end);

  std::uint64_t packs() const { return packs_; }
  std::uint64_t tokens() const { return tokens_; }  // in them
  double fill() const;

 private:
  struct Lane {
    std::vector<Candidate> candidates;
    Reach reach;  // of these
  };
  void close(Lane& lane, bool at_end, bool& last);

  PackSettings settings_;
  Planner planner_;
  std::vector<Lane> lanes_;
  std::uint64_t packs_ = 0, tokens_ = 0;
};

// A sentence when so many packs an epoch do not make one optimizer step, so that training would end
// without an error and without having learned; "" when they do.
std::string too_few_packs(std::uint64_t packs, std::uint32_t dp_size,
                          std::uint32_t packs_per_optimizer_step);

}  // namespace packline

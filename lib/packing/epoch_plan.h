#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "lib/packing/pack_order.h"
#include "lib/packing/planner.h"
#include "lib/packing/settings.h"

namespace packline {

// All samples of an epoch planned at once: docs/stream.md section 5.5. Samples are told by their
// numbers in the order given. Memory: 4 bytes a sample and 12 a pack; while it is made 12 more a
// sample.
class EpochPlan {
 public:
  // `tokens` of each sample, 1..capacity; `media`: which are media samples, empty for none.
  EpochPlan(const PackSettings& settings, std::span<const std::uint32_t> tokens,
            const std::vector<bool>& media);

  std::uint64_t packs() const { return costs_.size(); }
  // Pack p, in the order of opening: its samples, ascending; further samples that are repeated in
  // it and their repetition; and the repetition of all its samples, 0 for the pack itself.
  struct Pack {
    std::span<const std::uint32_t> samples;
    std::uint32_t repetition = 0;
    std::span<const std::pair<std::uint32_t, std::uint32_t>> more;  // (sample, repetition)
  };
  Pack pack(std::uint64_t p) const;
  // Samples that the remainder's policy drops, ascending.
  const std::vector<std::uint32_t>& lost() const { return lost_; }

  // The packs in the order of delivery in this epoch.
  std::vector<std::uint32_t> order(std::uint64_t epoch) const;

 private:
  struct Kind;
  struct Exceptions;
  void add_kind(const Kind& kind, bool media);
  Exceptions exceptions_of(const Plan& plan, Sizes sizes) const;
  void append(const Kind& kind, const Plan& plan, const Exceptions& except);
  void add_costs(std::span<const std::uint32_t> tokens);
  std::uint64_t source_of(std::uint64_t p) const;

  PackSettings settings_;
  std::vector<std::uint32_t> samples_;      // pack by pack
  std::vector<std::uint64_t> begin_ = {0};  // of each pack in samples_, and the end
  struct Again {
    std::uint32_t pack = 0;
    std::uint32_t repetition = 0;
  };
  std::vector<Again> again_;  // packs that follow those of samples_
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>> more_;  // by pack
  std::uint32_t media_packs_ = 0;  // the first ones
  std::vector<std::uint32_t> lost_;
  std::vector<PackCost> costs_;  // of all packs
};

}  // namespace packline

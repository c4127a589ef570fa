#pragma once

#include <cstdint>
#include <vector>

#include "lib/corpus/permutation.h"

namespace packline {

enum class ShuffleKind : std::uint8_t { kFull, kBuffer, kNone };

struct ShuffleSettings {
  ShuffleKind kind = ShuffleKind::kFull;
  std::uint64_t size = 0;  // records of a block, for kBuffer
};

// One source as the order sees it.
struct SourceShare {
  std::uint64_t records = 0;
  double weight = 0;  // > 0 for every source of the job, or 0 for every one: by size
  double repeat = 1;  // > 0; 2.5 = every record twice and a seeded half of them three times
};

// One record of an epoch's order.
struct RecordRef {
  std::uint32_t source = 0;
  std::uint32_t copy = 0;  // 0 = the first time in this epoch
  std::uint64_t record = 0;
  bool operator==(const RecordRef&) const = default;
};

// The order of one epoch's records: size() and, for any place at once, which record stands there.
// Pure arithmetic, no memory that grows with the records: docs/stream.md sections 2 and 3.
class EpochOrder {
 public:
  EpochOrder(const std::vector<SourceShare>& sources, ShuffleSettings shuffle, std::uint64_t seed,
             std::uint64_t epoch);

  std::uint64_t size() const { return size_; }
  RecordRef at(std::uint64_t i) const;  // i < size()

  // Lane l of n has the records l, l + n, l + 2n, ... of the order.
  std::uint64_t lane_size(std::uint32_t lane, std::uint32_t lanes) const;

 private:
  // One source's places in this epoch.
  struct Source {
    std::uint64_t records = 0;
    std::uint64_t whole = 0;   // every record this many times
    std::uint64_t places = 0;  // and `places` - whole * records of them once more
    Permutation extra;         // which ones
    Permutation all;           // the order of the places, for kFull
  };
  // A run of places in which every source comes at an even rate.
  struct Phase {
    std::uint64_t begin = 0;           // in the order
    std::uint64_t end = 0;             // in the order
    std::vector<std::uint64_t> count;  // of places, per source
    std::vector<std::uint64_t> first;  // of the source's own places, per source
  };
  void add_phase(std::vector<std::uint64_t> count);
  void make_weighted_phases(const std::vector<SourceShare>& shares);
  RecordRef ordered(std::uint32_t s, std::uint64_t j) const;
  RecordRef element(std::uint32_t s, std::uint64_t j) const;

  ShuffleSettings shuffle_;
  std::uint64_t seed_;
  std::uint64_t epoch_;
  std::uint64_t size_ = 0;
  std::vector<Source> sources_;
  std::vector<Phase> phases_;
};

}  // namespace packline

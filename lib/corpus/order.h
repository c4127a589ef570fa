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
  EpochOrder(std::vector<SourceShare> sources, ShuffleSettings shuffle, std::uint64_t seed,
             std::uint64_t epoch);

  std::uint64_t size() const { return size_; }
  RecordRef at(std::uint64_t i) const;  // i < size()

  // Lane l of n has the records l, l + n, l + 2n, ... of the order.
  std::uint64_t lane_size(std::uint32_t lane, std::uint32_t lanes) const;

 private:
  struct Source;
  struct Phase;
  std::uint64_t size_ = 0;
  std::vector<Source> sources_;
  std::vector<Phase> phases_;
};

}  // namespace packline

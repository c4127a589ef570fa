#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace packline {

// A sample that was read but left for a later window.
struct CarriedRef {
  std::uint64_t record = 0;  // place in the lane's order; at most the position's own
  std::uint32_t sample = 0;  // which sample of that record; below the position's if the same record
  std::uint32_t age = 0;     // windows it has been carried, >= 1
  bool operator==(const CarriedRef&) const = default;
};

// Where the reading of a lane stands in an epoch: the next sample to read, and the samples that
// earlier windows left. Delivery sees it as an opaque string; "" is the start.
//
// Text form (docs/stream.md section 6): "record.sample.token" and, for each carried sample in lane
// order, ",back.sample.age" with back = position.record - carried.record. At most 16 bytes a
// carried sample in practice.
struct Position {
  std::uint64_t record = 0;  // in the lane's order
  std::uint32_t sample = 0;  // in that record
  std::uint32_t token = 0;   // in that sample; 0 unless a sample is cut over two windows
  std::vector<CarriedRef> carried;

  bool operator==(const Position&) const = default;
  std::string text() const;  // "" when everything is 0 and nothing is carried
  // Takes exactly what text() writes, so that two positions are equal when their texts are: no
  // signs, spaces or leading zeros, carried samples ascending and before the position. Hostile
  // input: at most 1 MiB, no overflow; anything else is kDataRefused.
  static Result<Position> parse(std::string_view text);
};

}  // namespace packline

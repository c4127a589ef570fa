#pragma once

#include <fmt/format.h>

#include <string>

#include "lib/corpus/order.h"

namespace packline {

// The part of a sample's id that names its record (docs/stream.md section 4): "s0:4711", and "+1"
// behind it for the first copy in this epoch.
inline std::string record_id(const RecordRef& ref) {
  if (ref.copy == 0) return fmt::format("s{}:{}", ref.source, ref.record);
  return fmt::format("s{}:{}+{}", ref.source, ref.record, ref.copy);
}

}  // namespace packline

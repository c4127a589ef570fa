#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/delivery/progress.h"

namespace packline {

// What a sink writes down for `packline run`: the progress its trainer last told, as JSON text.
struct RankProgress {
  std::uint64_t job = 0;  // fingerprint
  std::uint32_t dp_rank = 0;
  bool done = false;
  Progress progress;
};

std::string progress_to_json(const RankProgress& p);
Result<RankProgress> progress_from_json(std::string_view text);

}  // namespace packline

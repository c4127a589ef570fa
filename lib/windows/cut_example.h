#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/config/job.h"

namespace packline {

// A record that has a sample longer than the capacity.
struct CutExample {
  std::string where;  // "file:line"
  std::string id;
  std::uint32_t tokens = 0;
};

// The first of the samples with these ids that is cut, found by encoding their records again:
// whoever reads windows sees only what was left of it. Nothing when none is, or they cannot be
// read.
std::optional<CutExample> find_cut(const Job& job, const std::vector<std::string>& ids);

}  // namespace packline

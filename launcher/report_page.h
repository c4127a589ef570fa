#pragma once

#include <string>
#include <vector>

#include "lib/config/job.h"
#include "lib/windows/epoch_advice.h"
#include "lib/windows/epoch_count.h"

namespace packline {

// One HTML document about an epoch of a job: numbers, pictures, warnings, settings. Self-contained:
// it loads nothing, runs nothing, follows the reader's light or dark colours.
std::string report_page(const Job& job, const EpochCount& count, const Advice& advice,
                        const std::vector<EpochWarning>& warnings);

}  // namespace packline

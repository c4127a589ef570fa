#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/children.h"
#include "lib/config/job.h"
#include "lib/telemetry/log.h"

namespace packline {

// How to start encoder process `i` of a job, "<prefix>encode-<i>", which connects to the producers
// at these base addresses. All that it needs to know is in its command line, so that it reads no
// job file.
ChildSpec encoder_spec(const Job& job, const std::vector<std::string>& producers, std::uint32_t i,
                       log::Format log_format, std::string_view prefix = "");

}  // namespace packline

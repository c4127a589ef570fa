#pragma once

#include <string>
#include <utility>
#include <vector>

namespace packline {

// Every setting that determines a job's stream, as (key, short value), in one fixed order.
using Identity = std::vector<std::pair<std::string, std::string>>;

}  // namespace packline

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace packline {

// JSON as text that is always UTF-8: a byte that is not becomes U+FFFD, where dump() would throw.
// Names, paths and sentences may hold any. `indent` below 0: one line.
std::string dump_json(const nlohmann::ordered_json& j, int indent = -1);

}  // namespace packline

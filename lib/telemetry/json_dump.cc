#include "lib/telemetry/json_dump.h"

#include <nlohmann/json.hpp>

namespace packline {

std::string dump_json(const nlohmann::ordered_json& j, int indent) {
  return j.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace packline

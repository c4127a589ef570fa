#include "lib/telemetry/status.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "lib/base/hex16.h"
#include "lib/telemetry/json_dump.h"

namespace packline {
namespace {

using Json = nlohmann::ordered_json;

Json object(const std::vector<std::pair<std::string, std::uint64_t>>& pairs) {
  Json out = Json::object();
  for (const auto& [name, value] : pairs) out[name] = value;
  return out;
}

}  // namespace

std::string StatusDocument::json() const {
  Json out;
  out["role"] = role;
  out["index"] = index >= 0 ? Json(index) : Json(nullptr);
  out["pid"] = ::getpid();
  out["session"] = hex16(session);
  out["state"] = state;
  out["since_ms"] = since_ms;
  out["holds"] = object(holds);
  out["waits"] = Json::array();
  for (const Wait& w : waits) {
    out["waits"].push_back(Json{{"for", w.what}, {"whom", w.whom}, {"since_ms", w.since_ms}});
  }
  out["counters"] = object(counters);
  return dump_json(out);
}

}  // namespace packline

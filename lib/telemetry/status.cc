#include "lib/telemetry/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "lib/base/hex16.h"
#include "lib/telemetry/json_dump.h"
#include "lib/telemetry/json_integer.h"

namespace packline {
namespace {

using Json = nlohmann::ordered_json;

Json object(const StatusDocument::Numbers& pairs) {
  Json out = Json::object();
  for (const auto& [name, value] : pairs) out[name] = value;
  return out;
}

StatusDocument::Numbers numbers(const Json& object) {
  StatusDocument::Numbers out;
  for (const auto& [name, value] : object.items())
    out.emplace_back(name, json_integer<std::uint64_t>(value));
  return out;
}

std::uint64_t value_of(const StatusDocument::Numbers& in, std::string_view key) {
  for (const auto& [name, value] : in) {
    if (name == key) return value;
  }
  return 0;
}

}  // namespace

std::string StatusDocument::json() const {
  Json out;
  out["role"] = role;
  out["index"] = index >= 0 ? Json(index) : Json(nullptr);
  out["pid"] = pid != 0 ? pid : ::getpid();
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

Result<StatusDocument> StatusDocument::parse(std::string_view text) {
  try {
    const Json j = Json::parse(text);
    StatusDocument d;
    d.role = j.at("role");
    d.index = j.at("index").is_null() ? -1 : json_integer<int>(j.at("index"));
    d.pid = json_integer<std::int64_t>(j.at("pid"));
    d.session = std::stoull(j.at("session").get<std::string>(), nullptr, 16);
    d.state = j.at("state");
    d.since_ms = json_integer<std::int64_t>(j.at("since_ms"));
    d.holds = numbers(j.at("holds"));
    for (const Json& w : j.at("waits"))
      d.waits.push_back({w.at("for"), w.at("whom"), json_integer<std::uint64_t>(w.at("since_ms"))});
    d.counters = numbers(j.at("counters"));
    return d;
  } catch (const std::exception& e) {
    return fail(ExitCode::kUnreachable, fmt::format("its status cannot be read: {}", e.what()));
  }
}

std::uint64_t StatusDocument::held(std::string_view key) const { return value_of(holds, key); }
std::uint64_t StatusDocument::counted(std::string_view key) const {
  return value_of(counters, key);
}

}  // namespace packline

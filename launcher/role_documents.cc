#include "launcher/role_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/telemetry/status_server.h"
#include "lib/transport/endpoint.h"

namespace packline {
namespace {

namespace fs = std::filesystem;
using PlainJson = nlohmann::json;

RoleDocument parse(const std::string& name, const std::string& text) {
  RoleDocument d;
  d.name = name;
  try {
    const PlainJson j = PlainJson::parse(text);
    d.role = j.at("role");
    d.pid = j.at("pid");
    d.state = j.at("state");
    d.since_ms = j.at("since_ms");
    d.holds = j.at("holds").get<std::map<std::string, std::uint64_t>>();
    d.counters = j.at("counters").get<std::map<std::string, std::uint64_t>>();
    for (const PlainJson& w : j.at("waits"))
      d.waits.push_back({w.at("for"), w.at("whom"), w.at("since_ms")});
  } catch (const std::exception& e) {
    d.trouble = fmt::format("its status cannot be read: {}", e.what());
  }
  return d;
}

int place_in_line(const std::string& name) {
  for (int i = 0; const char* role : {"producer", "packer", "sink"}) {
    if (name.starts_with(role)) return i;
    ++i;
  }
  return 3;
}

std::uint64_t value_of(const std::map<std::string, std::uint64_t>& in, const std::string& key) {
  const auto found = in.find(key);
  return found == in.end() ? 0 : found->second;
}

// "sink-10" behind "sink-9".
bool in_order(const std::string& a, const std::string& b) {
  const int pa = place_in_line(a), pb = place_in_line(b);
  if (pa != pb) return pa < pb;
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace

std::uint64_t RoleDocument::held(const std::string& key) const { return value_of(holds, key); }
std::uint64_t RoleDocument::counted(const std::string& key) const {
  return value_of(counters, key);
}

StatusAddresses addresses_in(const std::string& run_folder) {
  StatusAddresses out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run_folder, error)) {
    if (entry.path().extension() != ".http") continue;
    std::ifstream in(entry.path());
    std::string port;
    if (in >> port) out[entry.path().stem().string()] = "127.0.0.1:" + port;
  }
  return out;
}

StatusAddresses addresses_of(const LineSettings& line) {
  StatusAddresses out;
  const auto add = [&](const char* role, const std::vector<std::string>& bases) {
    for (std::size_t i = 0; i < bases.size(); ++i) {
      if (!bases[i].starts_with("ipc:"))
        out[fmt::format("{}-{}", role, i)] = http_address(bases[i], false);
    }
  };
  add("producer", line.producers);
  add("sink", line.sinks);
  return out;
}

std::vector<RoleDocument> ask_all(const StatusAddresses& addresses, Duration timeout) {
  std::vector<RoleDocument> out;
  for (const auto& [name, address] : addresses) {
    const Result<std::string> text = http_get(address, "/status", timeout);
    if (text) {
      out.push_back(parse(name, *text));
    } else {
      RoleDocument d;
      d.name = name;
      d.role = name.substr(0, name.rfind('-'));
      d.trouble = text.error().text;
      out.push_back(std::move(d));
    }
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return in_order(a.name, b.name); });
  return out;
}

}  // namespace packline

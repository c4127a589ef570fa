#include "launcher/role_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "launcher/role_names.h"
#include "lib/config/addresses.h"
#include "lib/telemetry/status_server.h"

namespace packline {
namespace {

namespace fs = std::filesystem;
int place_in_line(std::string_view name) {
  if (serves_eval(name)) return 4 + place_in_line(name.substr(kEvalPrefix.size()));
  for (int i = 0; const char* role : {"producer", "packer", "sink"}) {
    if (name.starts_with(role)) return i;
    ++i;
  }
  return 3;
}

}  // namespace

bool in_order(const std::string& a, const std::string& b) {
  const int pa = place_in_line(a), pb = place_in_line(b);
  if (pa != pb) return pa < pb;
  return a.size() != b.size() ? a.size() < b.size() : a < b;
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
  if (line.eval_sinks == line.sinks) return out;  // split: eval: these are the line's own
  add("eval-producer", line.eval_producers);
  add("eval-sink", line.eval_sinks);
  return out;
}

std::vector<RoleDocument> ask_all(const StatusAddresses& addresses, Duration timeout) {
  std::vector<RoleDocument> out;
  for (const auto& [name, address] : addresses) {
    const Result<std::string> text = http_get(address, "/status", timeout);
    const Result<StatusDocument> said =
        text ? StatusDocument::parse(*text) : tl::unexpected(text.error());
    RoleDocument& d = out.emplace_back();
    d.name = name;
    if (said) {
      d.document = *said;
    } else {
      d.document.role = role_of(serves_eval(name) ? name.substr(kEvalPrefix.size()) : name);
      d.trouble = said.error().text;
    }
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return in_order(a.name, b.name); });
  return out;
}

}  // namespace packline

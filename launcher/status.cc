#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launcher/commands.h"
#include "launcher/role_documents.h"
#include "launcher/run_folder.h"
#include "lib/delivery/role.h"
#include "lib/telemetry/json_dump.h"

namespace packline {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::ordered_json;

std::string numbers(const StatusDocument::Numbers& of) {
  std::string out;
  for (const auto& [k, v] : of) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", k, v);
  return out;
}

Json object(const StatusDocument::Numbers& of) {
  Json out = Json::object();
  for (const auto& [k, v] : of) out[k] = v;
  return out;
}

Json to_json(const RoleDocument& role) {
  const StatusDocument& d = role.document;
  Json j = {{"name", role.name}, {"role", d.role}};
  if (!role.trouble.empty()) {
    j["trouble"] = role.trouble;
    return j;
  }
  j["pid"] = d.pid;
  j["state"] = d.state;
  j["since_ms"] = d.since_ms;
  j["holds"] = object(d.holds);
  Json waits = Json::array();
  for (const Wait& w : d.waits)
    waits.push_back({{"for", w.what}, {"whom", w.whom}, {"since_ms", w.since_ms}});
  j["waits"] = std::move(waits);
  j["counters"] = object(d.counters);
  return j;
}

void print_table(const std::vector<RoleDocument>& roles) {
  std::size_t width = 12;
  for (const RoleDocument& role : roles) width = std::max(width, role.name.size());
  for (const RoleDocument& role : roles) {
    if (!role.trouble.empty()) {
      fmt::print("{:<{}} no answer: {}\n", role.name, width, role.trouble);
      continue;
    }
    const StatusDocument& d = role.document;
    fmt::print("{:<{}} {} since {}; holds {}\n", role.name, width, d.state,
               in_words_ms(static_cast<std::uint64_t>(d.since_ms)),
               d.holds.empty() ? "nothing" : numbers(d.holds));
    for (const Wait& w : d.waits) {
      fmt::print("{:<{}}   waits for {} from {} since {}\n", "", width, w.what, w.whom,
                 in_words_ms(w.since_ms));
    }
  }
}

}  // namespace

int status_command(const ReportCommand& c) {
  Job job;
  if (!load_or_complain(c.job, job)) return static_cast<int>(ExitCode::kWrongJob);
  StatusAddresses addresses = addresses_of(job.line);
  if (addresses.empty()) {
    const std::string file = find_line(job);
    if (file.empty()) {
      return complain(
          {ExitCode::kUnreachable,
           fmt::format("no line runs this job on this host: {}/run.json names none", job.state)});
    }
    const Result<LineFile> line = read_line_file(file);
    if (!line) return complain(line.error());
    addresses = addresses_in(line->folder);
  }
  const std::vector<RoleDocument> roles = ask_all(addresses, 500ms);
  if (c.json) {
    Json list = Json::array();
    for (const RoleDocument& d : roles) list.push_back(to_json(d));
    fmt::print("{}\n", dump_json(Json{{"job", job.name}, {"roles", std::move(list)}}, 2));
  } else {
    print_table(roles);
  }
  return 0;
}

}  // namespace packline

#include <fmt/format.h>

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

std::string numbers(const std::map<std::string, std::uint64_t>& of) {
  std::string out;
  for (const auto& [k, v] : of) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", k, v);
  return out;
}

Json to_json(const RoleDocument& d) {
  Json j = {{"name", d.name}, {"role", d.role}};
  if (!d.trouble.empty()) {
    j["trouble"] = d.trouble;
    return j;
  }
  j["pid"] = d.pid;
  j["state"] = d.state;
  j["since_ms"] = d.since_ms;
  j["holds"] = d.holds;
  Json waits = Json::array();
  for (const auto& w : d.waits)
    waits.push_back({{"for", w.what}, {"whom", w.whom}, {"since_ms", w.since_ms}});
  j["waits"] = std::move(waits);
  j["counters"] = d.counters;
  return j;
}

void print_table(const std::vector<RoleDocument>& roles) {
  for (const RoleDocument& d : roles) {
    if (!d.trouble.empty()) {
      fmt::print("{:<12} no answer: {}\n", d.name, d.trouble);
      continue;
    }
    fmt::print("{:<12} {} since {}; holds {}\n", d.name, d.state,
               in_words_ms(static_cast<std::uint64_t>(d.since_ms)),
               d.holds.empty() ? "nothing" : numbers(d.holds));
    for (const auto& w : d.waits) {
      fmt::print("{:<12}   waits for {} from {} since {}\n", "", w.what, w.whom,
                 in_words_ms(static_cast<std::uint64_t>(w.since_ms)));
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

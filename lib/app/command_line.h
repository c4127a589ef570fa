#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/job.h"
#include "lib/telemetry/log.h"

// What every role's main shares. The only user of CLI11 beside the launcher.

namespace packline {

// What a role's command line may say.
struct RoleCommand {
  std::string name;              // "packline-sink"
  std::string description;       // one sentence, for --help
  std::string index_flag;        // "--index", "--dp-rank", or "" for a role without one
  bool progress_file = false;    // takes --progress-file
  Data data = Data::kElsewhere;  // whether this role reads the sources
};

// What it said.
struct RoleOptions {
  std::string config;
  std::vector<std::string> sets;  // "a.b=c"
  std::uint32_t index = 0;        // of the index flag, which must be given
  bool check = false;             // only check and print the effective settings
  log::Format log_format = log::Format::kText;
  std::string http_port_file;
  std::string progress_file;  // where a sink writes its trainer's progress for `packline run`
};

// The options; or, after --help or --version (printed to stdout) and after a mistake (a sentence on
// stderr), how to end.
std::variant<RoleOptions, ExitCode> parse_command_line(const RoleCommand& command, int argc,
                                                       const char* const* argv);

// Reads and checks the job file. The error's text has every mistake, one a line.
Result<Job> read_job(const RoleOptions& options, Data data);

// One mistake a line.
std::string text_of(const std::vector<Mistake>& mistakes);

// Prints the error to stderr as "name: text" and returns the process's exit code.
int end_with(const std::string& name, const Error& error);

// The exit code of a main that is about to return `code`: output that did not arrive is no success.
// Whoever closed it on purpose wants none.
int flushed(const std::string& name, int code);

// Runs `main`; what it throws becomes a sentence and kBug: no exception may leave a main.
int guarded(const std::string& name, const std::function<int()>& main);

constexpr int exit_code(ExitCode c) { return static_cast<int>(c); }

}  // namespace packline

#include "lib/app/role_main.h"

#include <fmt/format.h>

#include <cstdio>

#include "lib/telemetry/log.h"

namespace packline {
namespace {

std::string role_of(const RoleCommand& command) {
  return command.name.substr(command.name.find('-') + 1);
}

int run_role(const RoleCommand& command, int argc, const char* const* argv, const RunRole& run) {
  auto parsed = parse_command_line(command, argc, argv);
  if (const auto* end = std::get_if<ExitCode>(&parsed)) return exit_code(*end);
  const RoleOptions& options = std::get<RoleOptions>(parsed);
  Result<Job> job = read_job(options, command.data);
  if (!job) return end_with(command.name, job.error());
  if (options.check) {
    fmt::print("{}", effective_yaml(*job));
    return exit_code(ExitCode::kDone);
  }
  if (job->line.producers.empty() || job->line.sinks.empty()) {
    return end_with(command.name,
                    {ExitCode::kWrongJob,
                     fmt::format("{}: line: a role started by itself needs line.producers and "
                                 "line.sinks; `packline run` makes them for one host",
                                 options.config)});
  }
  Signals signals;
  const int index = command.index_flag.empty() ? -1 : static_cast<int>(options.index);
  log::configure(options.log_format, {job->name, role_of(command), index});
  const Result<Exit> exit = run(std::move(*job), options, signals);
  if (!exit) {
    log::error("{}", exit.error().text);
    return exit_code(exit.error().code);
  }
  if (exit->code != ExitCode::kDone && exit->code != ExitCode::kTerminated &&
      exit->code != ExitCode::kInterrupted) {
    log::error("{}", exit->text);
  }
  return exit_code(exit->code);
}

}  // namespace

int role_main(const RoleCommand& command, int argc, const char* const* argv, const RunRole& run) {
  return flushed(command.name,
                 guarded(command.name, [&] { return run_role(command, argc, argv, run); }));
}

Status check_index(std::uint32_t index, std::size_t addresses, const std::string& flag,
                   const std::string& key) {
  if (index < addresses) return {};
  return fail(ExitCode::kWrongJob, fmt::format("{} {}: {} has {} addresses, so it is 0 to {}", flag,
                                               index, key, addresses, addresses - 1));
}

}  // namespace packline

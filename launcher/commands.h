#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/job.h"
#include "lib/telemetry/log.h"

// The subcommands of `packline`. Each returns the exit code of the process.

namespace packline {

struct JobOption {
  std::string file;
  std::vector<std::string> sets;
  log::Format log_format = log::Format::kText;
};

struct RunCommand {
  JobOption job;
  std::uint32_t producers = 1;
  std::uint32_t packers = 1;
  std::string summary_file;
  std::vector<std::string> command;  // empty: null trainers
  // For one command that speaks for itself: no progress, no summary, nothing that others find it
  // by; the job's own `line` is not looked at.
  bool on_private_line = false;
};
int run_command(const RunCommand& c);

struct TailCommand {
  JobOption job;
  std::uint32_t dp_rank = 0;
  std::uint64_t steps = 0;  // 0 = to the end
  bool jsonl = false;
  bool join = false;             // takes the rank's place in a line that is there
  bool on_private_line = false;  // that ends with this command anyway
};
int tail_command(const TailCommand& c);

struct ConsumeCommand {  // the null trainer of one rank
  JobOption job;
  std::uint32_t dp_rank = 0;
  std::uint32_t peer = 0;
};
int consume_command(const ConsumeCommand& c);

struct ReportCommand {  // count, check, status
  JobOption job;
  bool json = false;
};
int count_command(const ReportCommand& c);
int check_command(const ReportCommand& c);
int status_command(const ReportCommand& c);

struct PageCommand {  // report
  JobOption job;
  std::string page = "report.html";
  std::uint64_t epoch = 0;
};
int report_command(const PageCommand& c);

// The job, or nothing after every mistake was printed (then exit with kWrongJob).
bool load_or_complain(const JobOption& option, Job& job);

// Says of a job that reads a pipe that this takes its records.
void say_pipe(const Job& job);

// Prints "packline: <sentence>", or each mistake; returns the exit code.
int complain(const Error& error);
int complain(const std::vector<Mistake>& mistakes);

}  // namespace packline

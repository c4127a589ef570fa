#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "launcher/commands.h"
#include "lib/app/process.h"
#include "lib/app/version.h"

namespace {

using namespace packline;

void add_job(CLI::App* app, JobOption& job) {
  app->add_option("JOB", job.file, "the job file")->required();
  app->add_option("--set", job.sets, "a setting that replaces the file's: a.b.0.c=YAML")
      ->allow_extra_args(false);
  app->add_option("--log-format", job.log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

// What stands behind "--" belongs to the command that `packline run` serves.
std::vector<std::string> cut_command(std::vector<std::string>& args) {
  const auto dashes = std::find(args.begin(), args.end(), "--");
  if (dashes == args.end()) return {};
  std::vector<std::string> command(dashes + 1, args.end());
  args.erase(dashes, args.end());
  return command;
}

int run_main(int argc, char** argv) {
  CLI::App app{"packline packs training samples outside the trainer", "packline"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "packline " + std::string(kVersion));

  RunCommand run;
  TailCommand tail;
  ConsumeCommand consume;
  ReportCommand report;
  PageCommand page;
  std::string format = "table", tail_format = "summary";
  long parent_pid = 0;

  CLI::App* r =
      app.add_subcommand("run", "run the whole line on this host, with a command or null trainers");
  add_job(r, run.job);
  r->add_option("--producers", run.producers, "producer processes")->check(CLI::Range(1, 4096));
  r->add_option("--packers", run.packers, "packer processes")->check(CLI::Range(1, 4096));
  r->add_option("--summary", run.summary_file, "write the summary there as JSON");
  r->footer("packline run JOB [options] -- COMMAND...: COMMAND finds the line by PACKLINE_LINE");

  CLI::App* t = app.add_subcommand("tail", "print packs as a trainer rank sees them");
  add_job(t, tail.job);
  t->add_option("--dp-rank", tail.dp_rank, "which rank")->required();
  t->add_option("--steps", tail.steps, "stop after this many packs");
  t->add_option("--format", tail_format, "summary or jsonl")
      ->check(CLI::IsMember({"summary", "jsonl"}));

  t->add_flag("--private", tail.on_private_line)->group("");

  CLI::App* n = app.add_subcommand("consume", "stand in for a trainer rank")->group("");
  add_job(n, consume.job);
  n->add_option("--dp-rank", consume.dp_rank)->required();
  n->add_option("--peer", consume.peer);
  n->add_option("--parent-pid", parent_pid);

  const auto add_report = [&](const char* name, const char* text) {
    CLI::App* s = app.add_subcommand(name, text);
    add_job(s, report.job);
    s->add_option("--format", format, "table or json")->check(CLI::IsMember({"table", "json"}));
    return s;
  };
  CLI::App* count =
      add_report("count", "count records, packs and tokens of each epoch, without a trainer");
  CLI::App* check =
      add_report("check", "say every mistake of the job file, or its effective settings");
  CLI::App* status = add_report("status", "who holds what, who waits for whom since when");

  CLI::App* p = app.add_subcommand("report", "write what an epoch is like as one HTML page");
  add_job(p, page.job);
  p->add_option("-o,--output", page.page, "the file, report.html unless named");
  p->add_option("--epoch", page.epoch, "which epoch, 0 unless named");

  std::vector<std::string> args(argv + 1, argv + argc);
  run.command = cut_command(args);
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
  try {
    app.parse(args);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : static_cast<int>(ExitCode::kWrongJob);
  }
  if (!run.command.empty() && !*r) {
    return complain({ExitCode::kWrongJob, "only `packline run` takes a command behind --"});
  }
  if (*r) return run_command(run);
  if (*t) return tail.jsonl = tail_format == "jsonl", tail_command(tail);
  if (*n) {
    if (Status ok = parent_pid == 0 ? Status{} : end_with_parent(parent_pid); !ok)
      return complain(ok.error());
    return consume_command(consume);
  }
  if (*p) return report_command(page);
  report.json = format == "json";
  if (*count) return count_command(report);
  if (*check) return check_command(report);
  if (*status) return status_command(report);
  return static_cast<int>(ExitCode::kWrongJob);
}

// Output that did not arrive is no success. Whoever closed it on purpose wants none.
int flushed(int code) {
  const bool failed = std::ferror(stdout) != 0;
  if ((std::fflush(stdout) == 0 && !failed) || errno == EBADF || errno == EPIPE) return code;
  const int told =
      complain({ExitCode::kWrongJob, fmt::format("the output could not be written: {}; what came "
                                                 "out of it is not whole",
                                                 std::strerror(errno))});
  return code == 0 ? told : code;
}

}  // namespace

int main(int argc, char** argv) { return flushed(run_main(argc, argv)); }

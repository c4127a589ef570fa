#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launcher/commands.h"
#include "lib/app/command_line.h"
#include "lib/app/version.h"

namespace {

using namespace packline;

void add_job(CLI::App* app, JobOption& job) {
  app->add_option("JOB", job.file, "the job file")->required();
  app->add_option("--set", job.sets, "a setting that replaces the file's: a.b.0.c=YAML")
      ->allow_extra_args(false);
}

void add_log_format(CLI::App* app, JobOption& job) {
  static const std::map<std::string, log::Format> kFormats = {{"text", log::Format::kText},
                                                              {"json", log::Format::kJson}};
  app->add_option("--log-format", job.log_format, "of what it and its processes log: text or json")
      ->transform(CLI::CheckedTransformer(kFormats).description(""))
      ->type_name("FORMAT");
}

// What stands behind "--" belongs to the command that `packline run` serves.
std::vector<std::string> cut_command(std::vector<std::string>& args) {
  const auto dashes = std::find(args.begin(), args.end(), "--");
  if (dashes == args.end()) return {};
  std::vector<std::string> command(dashes + 1, args.end());
  args.erase(dashes, args.end());
  return command;
}

// The command line, and where what it says is put.
class Launcher {
 public:
  Launcher() {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", "packline " + std::string(kVersion));
    add_run();
    add_tail();
    add_consume();
    add_report("count", "count records, packs and tokens of each epoch, without a trainer",
               count_command);
    add_report("check", "say every mistake of the job file, or its effective settings",
               check_command);
    add_report("status", "who holds what, who waits for whom since when", status_command);
    add_page();
  }

  int run(int argc, char** argv) {
    std::vector<std::string> args(argv + 1, argv + argc);
    run_.command = cut_command(args);
    std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
    try {
      app_.parse(args);
    } catch (const CLI::ParseError& e) {
      return app_.exit(e) == 0 ? 0 : static_cast<int>(ExitCode::kWrongJob);
    }
    const CLI::App* chosen = app_.get_subcommands().front();
    if (!run_.command.empty() && chosen->get_name() != "run") {
      return complain({ExitCode::kWrongJob, "only `packline run` takes a command behind --"});
    }
    return start_.at(chosen->get_name())();
  }

 private:
  CLI::App* add(const std::string& name, const std::string& text, std::function<int()> start) {
    start_[name] = std::move(start);
    return app_.add_subcommand(name, text);
  }

  void add_run() {
    CLI::App* a = add("run", "run the whole line on this host, with a command or null trainers",
                      [this] { return run_command(run_); });
    add_job(a, run_.job);
    add_log_format(a, run_.job);
    a->add_option("--producers", run_.producers, "producer processes")->check(CLI::Range(1, 4096));
    a->add_option("--packers", run_.packers, "packer processes")->check(CLI::Range(1, 4096));
    a->add_option("--summary", run_.summary_file, "write the summary there as JSON");
    a->footer("packline run JOB [options] -- COMMAND...: COMMAND finds the line by PACKLINE_LINE");
  }

  void add_tail() {
    CLI::App* a = add("tail", "print packs as a trainer rank sees them",
                      [this] { return tail_command(tail_); });
    add_job(a, tail_.job);
    add_log_format(a, tail_.job);
    a->add_option("--dp-rank", tail_.dp_rank, "which rank")->required();
    a->add_option("--steps", tail_.steps, "stop after this many packs");
    a->add_option("--format", tail_.jsonl, "summary or jsonl")
        ->transform(CLI::CheckedTransformer(
                        std::map<std::string, bool>{{"summary", false}, {"jsonl", true}})
                        .description(""))
        ->type_name("FORMAT");
    a->add_flag("--join", tail_.join,
                "on the line that runs this job already: takes that rank's place, and says done at "
                "the end (without it, and without PACKLINE_LINE, it makes a line of its own)");
    a->add_flag("--private", tail_.on_private_line)->group("");
  }

  void add_consume() {
    CLI::App* a =
        add("consume", "stand in for a trainer rank", [this] { return consume_command(consume_); });
    a->group("");
    add_job(a, consume_.job);
    add_log_format(a, consume_.job);
    a->add_option("--dp-rank", consume_.dp_rank)->required();
    a->add_option("--peer", consume_.peer);
  }

  void add_report(const char* name, const char* text, int (*command)(const ReportCommand&)) {
    CLI::App* a = add(name, text, [this, command] { return command(report_); });
    add_job(a, report_.job);
    a->add_option("--format", report_.json, "table or json")
        ->transform(
            CLI::CheckedTransformer(std::map<std::string, bool>{{"table", false}, {"json", true}})
                .description(""))
        ->type_name("FORMAT");
  }

  void add_page() {
    CLI::App* a = add("report", "write what an epoch is like as one HTML page",
                      [this] { return report_command(page_); });
    add_job(a, page_.job);
    a->add_option("-o,--output", page_.page, "the file, report.html unless named");
    a->add_option("--epoch", page_.epoch, "which epoch, 0 unless named");
  }

  CLI::App app_{"packline packs training samples outside the trainer", "packline"};
  std::map<std::string, std::function<int()>> start_;
  RunCommand run_;
  TailCommand tail_;
  ConsumeCommand consume_;
  ReportCommand report_;
  PageCommand page_;
};

}  // namespace

int main(int argc, char** argv) {
  return flushed("packline", guarded("packline", [&] { return Launcher().run(argc, argv); }));
}

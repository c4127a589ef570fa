#include "lib/app/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>

#include "lib/app/version.h"

namespace packline {
namespace {

void print(std::FILE* to, const std::string& text) {
  std::fputs(text.c_str(), to);
  std::fflush(to);
}

void describe(CLI::App& app, const RoleCommand& command, RoleOptions& options) {
  static const std::map<std::string, log::Format> kFormats = {{"text", log::Format::kText},
                                                              {"json", log::Format::kJson}};
  app.set_version_flag("--version", fmt::format("{} {}", command.name, kVersion));
  app.add_option("--config", options.config, "the job file")->required()->type_name("JOB");
  if (!command.index_flag.empty()) {
    app.add_option(command.index_flag, options.index,
                   "which one of its role this process is, counted from 0")
        ->required()
        ->type_name("N");
  }
  app.add_option("--set", options.sets,
                 "a setting of the job file to replace; may be given several times")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  app.add_flag("--check", options.check,
               "only check the job file and print the effective settings");
  app.add_option("--log-format", options.log_format, "text or json")
      ->transform(CLI::CheckedTransformer(kFormats).description(""))
      ->type_name("FORMAT");
  app.add_option("--http-port-file", options.http_port_file,
                 "where to write the port that serves /status")
      ->type_name("FILE");
  if (command.progress_file) {
    app.add_option("--progress-file", options.progress_file,
                   "where to write what the trainer was handed, as JSON")
        ->type_name("FILE");
  }
}

}  // namespace

std::variant<RoleOptions, ExitCode> parse_command_line(const RoleCommand& command, int argc,
                                                       const char* const* argv) {
  RoleOptions options;
  try {
    CLI::App app(command.description, command.name);
    describe(app, command, options);
    try {
      app.parse(argc, argv);
      return options;
    } catch (const CLI::CallForHelp&) {
      print(stdout, app.help());
      return ExitCode::kDone;
    } catch (const CLI::CallForVersion& e) {
      print(stdout, fmt::format("{}\n", e.what()));
      return ExitCode::kDone;
    }
  } catch (const CLI::Error& e) {
    print(stderr, fmt::format("{}: {}; see {} --help\n", command.name, e.what(), command.name));
    return ExitCode::kWrongJob;
  }
}

Result<Job> read_job(const RoleOptions& options, Data data) {
  LoadedJob loaded = load_job(options.config, options.sets, data);
  if (!loaded.mistakes.empty()) return fail(ExitCode::kWrongJob, text_of(loaded.mistakes));
  return std::move(loaded.job);
}

std::string text_of(const std::vector<Mistake>& mistakes) {
  std::string text;
  for (const Mistake& m : mistakes) {
    if (!text.empty()) text += '\n';
    text += m.line_text();
  }
  return text;
}

int end_with(const std::string& name, const Error& error) {
  print(stderr, fmt::format("{}: {}\n", name, error.text));
  return exit_code(error.code);
}

int flushed(const std::string& name, int code) {
  const bool failed = std::ferror(stdout) != 0;
  if ((std::fflush(stdout) == 0 && !failed) || errno == EBADF || errno == EPIPE) return code;
  const int told = end_with(
      name, {ExitCode::kWrongJob,
             fmt::format("the output could not be written: {}; what came out of it is not whole",
                         std::strerror(errno))});
  return code == 0 ? told : code;
}

int guarded(const std::string& name, const std::function<int()>& main) {
  try {
    return main();
  } catch (const std::exception& e) {
    return end_with(name, {ExitCode::kBug,
                           fmt::format("it cannot go on: {}; this is a bug of packline, or memory "
                                       "ran out",
                                       e.what())});
  }
}

}  // namespace packline

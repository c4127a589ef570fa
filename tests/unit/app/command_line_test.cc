#include "lib/app/command_line.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "lib/app/version.h"

namespace packline {
namespace {

const RoleCommand kSink = {"packline-sink", "Serves the packs of one dp_rank.", "--dp-rank"};
const RoleCommand kPacker = {"packline-packer", "Packs windows.", ""};

struct Outcome {
  std::variant<RoleOptions, ExitCode> parsed;
  std::string out, err;
};

// Points a descriptor at a file for a while.
class Captured {
 public:
  explicit Captured(std::FILE* stream) : stream_(stream), file_(std::tmpfile()) {
    std::fflush(stream_);
    before_ = ::dup(::fileno(stream_));
    ::dup2(::fileno(file_), ::fileno(stream_));
  }
  std::string end() {
    std::fflush(stream_);
    ::dup2(before_, ::fileno(stream_));
    ::close(before_);
    std::rewind(file_);
    std::string text;
    for (int c = 0; (c = std::fgetc(file_)) != EOF;) text += static_cast<char>(c);
    std::fclose(file_);
    return text;
  }

 private:
  std::FILE* stream_;
  std::FILE* file_;
  int before_ = -1;
};

Outcome parse(const RoleCommand& command, std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), command.name.c_str());
  Captured out(stdout), err(stderr);
  auto parsed = parse_command_line(command, static_cast<int>(arguments.size()), arguments.data());
  std::string err_text = err.end();
  return {std::move(parsed), out.end(), std::move(err_text)};
}

RoleOptions options(const RoleCommand& command, const std::vector<const char*>& arguments) {
  const Outcome o = parse(command, arguments);
  REQUIRE_MESSAGE(std::holds_alternative<RoleOptions>(o.parsed), o.err);
  return std::get<RoleOptions>(o.parsed);
}

// A command line that is refused with exit 2 and a sentence that has `part`.
void refused(const RoleCommand& command, const std::vector<const char*>& arguments,
             const std::string& part) {
  const Outcome o = parse(command, arguments);
  REQUIRE(std::holds_alternative<ExitCode>(o.parsed));
  CHECK(std::get<ExitCode>(o.parsed) == ExitCode::kWrongJob);
  CHECK(o.out.empty());
  CHECK_MESSAGE(o.err.find(command.name + ": ") == 0, o.err);
  CHECK_MESSAGE(o.err.find(part) != std::string::npos, o.err);
  CHECK_MESSAGE(o.err.find("--help") != std::string::npos, o.err);
}

TEST_CASE("Command line: every option is read") {
  const RoleOptions o = options(
      kSink, {"--config", "job.yaml", "--dp-rank", "3", "--set", "a.b=c", "--set", "d=[1, 2]",
              "--check", "--log-format", "json", "--http-port-file", "/run/port"});
  CHECK(o.config == "job.yaml");
  CHECK(o.index == 3);
  CHECK(o.sets == std::vector<std::string>{"a.b=c", "d=[1, 2]"});
  CHECK(o.check);
  CHECK(o.log_format == log::Format::kJson);
  CHECK(o.http_port_file == "/run/port");
}

TEST_CASE("Command line: a packer needs only its job") {
  const RoleOptions o = options(kPacker, {"--config=job.yaml"});
  CHECK(o.config == "job.yaml");
  CHECK_FALSE(o.check);
  CHECK(o.log_format == log::Format::kText);
}

TEST_CASE("Command line: what is missing, unknown or of the wrong kind is exit 2 with a sentence") {
  refused(kSink, {"--dp-rank", "3"}, "--config");
  refused(kSink, {"--config", "j"}, "--dp-rank");
  refused(kSink, {"--config", "j", "--dp-rank", "-1"}, "--dp-rank");
  refused(kSink, {"--config", "j", "--dp-rank", "two"}, "--dp-rank");
  refused(kSink, {"--config", "j", "--dp-rank", "4294967296"}, "--dp-rank");
  refused(kPacker, {"--config", "j", "--dp-rank", "1"}, "--dp-rank");
  refused(kPacker, {"--config", "j", "stray"}, "stray");
  refused(kPacker, {"--config", "j", "--log-format", "xml"}, "xml");
  refused(kPacker, {"--config", "j", "--set"}, "--set");
  refused(kPacker, {"--config"}, "--config");
}

TEST_CASE("Command line: --help and --version print and end well") {
  const Outcome help = parse(kSink, {"--help"});
  CHECK(std::get<ExitCode>(help.parsed) == ExitCode::kDone);
  for (const char* flag : {"--config", "--dp-rank", "--set", "--check", "--log-format"}) {
    CHECK(help.out.find(flag) != std::string::npos);
  }
  const Outcome version = parse(kPacker, {"--version"});
  CHECK(std::get<ExitCode>(version.parsed) == ExitCode::kDone);
  CHECK(version.out == "packline-packer " + std::string(kVersion) + "\n");
}

TEST_CASE("Version: the build and the code have the same one") {
  std::ifstream file(PACKLINE_SOURCE_DIR "/CMakeLists.txt");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  CHECK(text.find("project(packline VERSION " + std::string(kVersion) + " ") != std::string::npos);
}

TEST_CASE("Command line: mistakes of a job are told one a line, all of them") {
  RoleOptions o;
  o.config = "/tmp/packline-no-such-job.yaml";
  const auto job = read_job(o, Data::kHere);
  REQUIRE_FALSE(job.has_value());
  CHECK(job.error().code == ExitCode::kWrongJob);
  CHECK(job.error().text.find("packline-no-such-job.yaml") != std::string::npos);

  Mistake a;
  a.file = "job.yaml";
  a.line = 3;
  a.key = "lanes";
  a.text = "must be at least 1, is 0";
  Mistake b = a;
  b.line = 9;
  CHECK(text_of({a, b}) == a.line_text() + "\n" + b.line_text());
}

TEST_CASE("Command line: an error ends with its sentence and its code") {
  Captured err(stderr);
  const int code =
      end_with("packline-sink", {ExitCode::kUnreachable, "ipc:///x: is held by process 5"});
  CHECK(err.end() == "packline-sink: ipc:///x: is held by process 5\n");
  CHECK(code == 4);
}

}  // namespace
}  // namespace packline

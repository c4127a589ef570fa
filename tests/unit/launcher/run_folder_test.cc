#include "launcher/run_folder.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "tests/unit/temp_folder.h"

namespace packline {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;

Job job_in(const TempFolder& folder) {
  Job job;
  job.file = "job.yaml";
  job.state = folder.path("state");
  return job;
}

// Of a process that was and is not any more.
pid_t dead_pid() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  return child;
}

RunFolder made(const Job& job) {
  Result<RunFolder> folder = RunFolder::make(job);
  REQUIRE(folder);
  return std::move(*folder);
}

TEST_CASE("Run folder: a published line is found, by its launcher's life") {
  const TempFolder temp;
  const Job job = job_in(temp);
  {
    const RunFolder folder = made(job);
    CHECK(find_line(job).empty());
    LineFile line;
    line.job = "/jobs/a\xff.yaml";  // a path may be any bytes
    line.sinks = {folder.address("sink-0")};
    line.eval_sinks = {folder.address("eval-sink-0")};
    line.pid = ::getpid();
    CHECK(line.evaluates_beside());
    REQUIRE(folder.write_line(line));
    CHECK(folder.publish(::getpid()).value() == 0);
    CHECK(find_line(job) == folder.line_file());
    const Result<LineFile> read = read_line_file(folder.line_file());
    REQUIRE(read);
    CHECK(read->sinks == line.sinks);
    CHECK(read->eval_sinks == line.eval_sinks);
    CHECK(read->eval_producers.empty());
    CHECK(read->pid == line.pid);
  }
  CHECK(find_line(job).empty());
  CHECK_FALSE(fs::exists(temp.path("state/run.json")));
}

TEST_CASE("Run folder: a second line of the job leaves the first one's pointer alone") {
  const TempFolder temp;
  const Job job = job_in(temp);
  auto first = std::make_unique<RunFolder>(made(job));
  CHECK(first->publish(::getppid()).value() ==
        0);  // a launcher that lives, and is not this process
  {
    const RunFolder second = made(job);
    CHECK(second.publish(::getpid()).value() == ::getppid());
    CHECK(find_line(job) == first->line_file());
  }
  CHECK(find_line(job) == first->line_file());
  first.reset();
  CHECK(find_line(job).empty());
}

TEST_CASE("Run folder: what a killed launcher left is removed, and its place taken") {
  const TempFolder temp;
  const Job job = job_in(temp);
  auto killed = std::make_unique<RunFolder>(made(job));
  REQUIRE(killed->write_line({}));
  CHECK(killed->publish(dead_pid()).value() == 0);
  const std::string left = killed->path();
  CHECK(find_line(job).empty());
  const RunFolder next = made(job);
  CHECK_FALSE(fs::exists(left));
  CHECK(next.publish(::getpid()).value() == 0);
  CHECK(find_line(job) == next.line_file());
}

// The state folder may lie anywhere, and so may what its run.json names.
TEST_CASE("Run folder: a damaged pointer is replaced, and nothing it names is removed") {
  const TempFolder temp;
  const Job job = job_in(temp);
  fs::create_directories(job.state);
  fs::create_directories(temp.path("packline-data"));
  temp.write("packline-data/line.json", "{}");  // not mode 0700
  fs::create_directories(temp.path("elsewhere"));
  fs::permissions(temp.path("elsewhere"), fs::perms::owner_all);
  temp.write("elsewhere/line.json", "{}");
  fs::create_directories(temp.path("packline-empty"));
  fs::permissions(temp.path("packline-empty"), fs::perms::owner_all);
  const auto pointer = [&](const std::string& line) {
    return "{\"line\": \"" + line + "\", \"pid\": " + std::to_string(dead_pid()) + "}";
  };
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[1]"), std::string("{\"pid\": \"x\"}"),
        std::string("{\"line\": 7, \"pid\": 1}"), std::string("{\"line\": \"/x\", \"pid\": 1e99}"),
        pointer(temp.path("packline-data/line.json")), pointer(temp.path("elsewhere/line.json")),
        pointer(temp.path("packline-empty/line.json")), pointer("packline-x/line.json"),
        pointer("")}) {
    CAPTURE(text);
    temp.write("state/run.json", text);
    CHECK(find_line(job).empty());
    const RunFolder folder = made(job);
    CHECK(folder.publish(::getpid()).value() == 0);
    CHECK(find_line(job) == folder.line_file());
  }
  CHECK(fs::exists(temp.path("packline-data/line.json")));
  CHECK(fs::exists(temp.path("elsewhere/line.json")));
  CHECK(fs::exists(temp.path("packline-empty")));
}

}  // namespace
}  // namespace packline

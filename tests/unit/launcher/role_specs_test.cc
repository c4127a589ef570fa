#include "launcher/role_specs.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "launcher/role_names.h"
#include "tests/unit/temp_folder.h"

namespace packline {
namespace {

struct Run {
  test::TempFolder temp;
  Job job;
  RunCommand command;
  LineFile line;

  Run() {
    job.state = temp.path("state");
    job.deliver.dp_size = 2;
    command.job = {"job.yaml", {"lanes=2"}, log::Format::kText};
    command.packers = 2;
    line.producers = {"ipc:///r/producer-0", "ipc:///r/producer-1"};
    line.sinks = {"ipc:///r/sink-0", "ipc:///r/sink-1"};
  }

  std::vector<ChildSpec> specs() const {
    const Result<RunFolder> folder = RunFolder::make(job);
    REQUIRE(folder);
    return role_specs(job, command, line, *folder);
  }
};

std::vector<std::string> names(const std::vector<ChildSpec>& specs) {
  std::vector<std::string> out;
  for (const ChildSpec& s : specs) out.push_back(s.name);
  return out;
}

const ChildSpec& named(const std::vector<ChildSpec>& specs, const std::string& name) {
  const auto found = std::ranges::find(specs, name, &ChildSpec::name);
  REQUIRE(found != specs.end());
  return *found;
}

// What stands behind each `--set`, in order.
std::vector<std::string> sets(const ChildSpec& spec) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i + 1 < spec.argv.size(); ++i)
    if (spec.argv[i] == "--set") out.push_back(spec.argv[i + 1]);
  return out;
}

std::string after(const ChildSpec& spec, const std::string& flag) {
  const auto at = std::ranges::find(spec.argv, flag);
  return at == spec.argv.end() ? "" : *(at + 1);
}

TEST_CASE("Role specs: a line without an eval split has its own roles alone") {
  const Run run;
  const std::vector<ChildSpec> specs = run.specs();
  CHECK(names(specs) == std::vector<std::string>{"producer-0", "producer-1", "packer-0", "packer-1",
                                                 "sink-0", "sink-1"});
  CHECK(sets(named(specs, "producer-1")) ==
        std::vector<std::string>{
            "lanes=2", "line.producers=[\"ipc:///r/producer-0\", \"ipc:///r/producer-1\"]",
            "line.sinks=[\"ipc:///r/sink-0\", \"ipc:///r/sink-1\"]"});
  CHECK(after(named(specs, "producer-1"), "--index") == "1");
  CHECK(after(named(specs, "sink-1"), "--progress-file").ends_with("/sink-1.progress"));
  CHECK(after(named(specs, "packer-0"), "--progress-file").empty());
}

TEST_CASE("Role specs: the eval split has a producer, a packer and a sink a rank, at their own") {
  Run run;
  run.line.eval_producers = {"ipc:///r/eval-producer-0"};
  run.line.eval_sinks = {"ipc:///r/eval-sink-0", "ipc:///r/eval-sink-1"};
  const std::vector<ChildSpec> specs = run.specs();
  const std::vector<std::string> all = names(specs);
  CHECK(std::vector<std::string>(all.begin() + 6, all.end()) ==
        std::vector<std::string>{"eval-producer-0", "eval-packer-0", "eval-sink-0", "eval-sink-1"});
  const ChildSpec& sink = named(specs, "eval-sink-1");
  CHECK(sink.argv[0] == named(specs, "sink-1").argv[0]);
  CHECK(sets(sink) == std::vector<std::string>{
                          "lanes=2", "split=eval",
                          "line.eval_producers=[\"ipc:///r/eval-producer-0\"]",
                          "line.eval_sinks=[\"ipc:///r/eval-sink-0\", \"ipc:///r/eval-sink-1\"]"});
  CHECK(after(sink, "--dp-rank") == "1");
  CHECK(after(sink, "--progress-file").ends_with("/eval-sink-1.progress"));
  CHECK(after(sink, "--http-port-file").ends_with("/eval-sink-1.http"));
}

TEST_CASE("Role specs: a line that is started with split=eval serves it by its own roles") {
  Run run;
  run.job.split = Split::kEval;
  run.line.eval_producers = run.line.producers;
  run.line.eval_sinks = run.line.sinks;
  const std::vector<ChildSpec> specs = run.specs();
  CHECK(specs.size() == 6);
  CHECK(sets(named(specs, "sink-0"))[1].starts_with("line.eval_producers="));
}

TEST_CASE("Role names: those of the eval split say so") {
  CHECK(serves_eval("eval-sink-3"));
  CHECK_FALSE(serves_eval("sink-3"));
  CHECK(role_of("eval-sink-3") == "eval-sink");
  CHECK(in_a_sentence("eval-sink-3") == "eval-sink-3, of the eval split,");
  CHECK(in_a_sentence("sink-3") == "sink-3");
}

}  // namespace
}  // namespace packline

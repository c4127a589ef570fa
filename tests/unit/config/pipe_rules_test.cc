#include <sys/stat.h>

#include <string>
#include <vector>

#include "lib/config/rules.h"
#include "tests/unit/config/job_folder.h"

namespace packline::test {
namespace {

const std::string kPipeJob =
    "version: 1\nencode: {kind: bytes}\nlanes: 1\nshuffle: {kind: none}\nsources:\n"
    "  - {path: data/p, format: text}\n";

struct PipeFolder : JobFolder {
  PipeFolder() { REQUIRE(::mkfifo(at("data/p").c_str(), 0600) == 0); }
};

TEST_CASE("Pipe rules: a pipe is known without being opened") {
  const PipeFolder folder;
  CHECK(folder.mistakes(kPipeJob).empty());
  CHECK(folder.mistakes(kPipeJob, {"shuffle={kind: buffer, size: 10}"}).empty());
  CHECK(folder.mistakes(kPipeJob, {"sources.0.read_as=lines"}).empty());
  CHECK(folder.mistakes(kPipeJob, {"sources.0.read_as=json"}).empty());
}

TEST_CASE("Pipe rules: each setting that needs more than one reading is a mistake of its own") {
  const PipeFolder folder;
  CHECK_ONE(folder.mistakes(kPipeJob, {"lanes=2"}),
            "--set: lanes: 2 lanes; a pipe is read once, from front to back, by one producer: set "
            "lanes: 1");
  CHECK_ONE_HOLDS(folder.mistakes(kPipeJob, {"shuffle.kind=full"}), "--set: shuffle.kind: full");
  CHECK_ONE_HOLDS(folder.mistakes(kPipeJob, {"epochs=continuous"}), "--set: epochs: a pipe");
  CHECK_ONE_HOLDS(folder.mistakes(kPipeJob, {"pack.plan=global"}), "--set: pack.plan: global");
  CHECK_ONE_HOLDS(folder.mistakes(kPipeJob, {"eval.fraction=0.5"}), "eval.fraction: records set");
  CHECK_ONE_HOLDS(folder.mistakes(kPipeJob, {"sources.0.repeat=1.5"}), "sources.0.repeat: a pipe");
  CHECK_ONE_HOLDS(folder.mistakes(kPipeJob, {"sources.0.read_as=files"}),
                  "sources.0.read_as: a pipe is read as jsonl, json or lines, not as files");
}

TEST_CASE("Pipe rules: a pipe among other sources is told once for each pipe") {
  const PipeFolder folder;
  const std::string more = kPipeJob + "  - {path: data/a.jsonl, format: text}\n";
  CHECK_ONE_HOLDS(folder.mistakes(more), "job.yaml:6: sources.0.path: ");
  CHECK_ONE_HOLDS(folder.mistakes(kPipeJob, {"sources.0.path=data/*"}),
                  "data/p is a pipe, and a pipe is a job's only source");
  REQUIRE(::mkfifo(folder.at("data/q").c_str(), 0600) == 0);
  CHECK(folder.mistakes(kPipeJob + "  - {path: data/q, format: text}\n", {"lanes=3"}).size() == 3);
}

}  // namespace
}  // namespace packline::test

#include "lib/config/rules.h"

#include "tests/unit/config/job_folder.h"

namespace packline::test {
namespace {

std::vector<std::string> with(const std::string& more) {
  return JobFolder().mistakes(small_job(more));
}

}  // namespace

// L2: every window has exactly packs_per_window packs, always a multiple of pack.dp_size_multiple,
// a setting of the job that dp_size divides.
TEST_CASE("Rules: pack.dp_size_multiple is deliver.dp_size unless it is set") {
  const JobFolder folder;
  CHECK(folder.load(small_job("deliver: {dp_size: 4}\n")).job.pack.dp_size_multiple == 4);
  CHECK(folder.load(small_job("deliver: {dp_size: 4}\npack: {dp_size_multiple: 8}\n"))
            .job.pack.dp_size_multiple == 8);
  CHECK(folder.load(small_job()).job.pack.dp_size_multiple == 1);
}

TEST_CASE("Rules: a multiple that dp_size does not divide says what to set") {
  CHECK_ONE(with("deliver: {dp_size: 8}\npack: {dp_size_multiple: 4}\n"),
            "job.yaml:5: pack.dp_size_multiple: 4 is no multiple of deliver.dp_size: 8; set "
            "pack.dp_size_multiple: 8");
  CHECK_ONE_HOLDS(with("deliver: {dp_size: 6}\npack: {dp_size_multiple: 4}\n"),
                  "set pack.dp_size_multiple: 12");
}

TEST_CASE("Rules: a window that is no multiple says what to set, and why") {
  CHECK_ONE(with("deliver: {dp_size: 6}\n"),
            "job.yaml: pack.packs_per_window: 256 is no multiple of pack.dp_size_multiple: 6 (as "
            "deliver.dp_size); set pack.packs_per_window: 258");
  CHECK_ONE(
      with("pack: {packs_per_window: 100, dp_size_multiple: 8}\ndeliver: {dp_size: 8}\n"),
      "job.yaml:4: pack.packs_per_window: 100 is no multiple of pack.dp_size_multiple: 8; set "
      "pack.packs_per_window: 104");
}

TEST_CASE("Rules: what is looked ahead must be sent within the windows allowed") {
  CHECK(with("pack: {packs_per_window: 8}\n").empty());
  CHECK_ONE(with("pack: {packs_per_window: 8, lookahead_packs: 32, lookahead_windows_max: 2}\n"),
            "job.yaml:4: pack.lookahead_windows_max: 2 windows are too few to send 32 looked-ahead "
            "packs at 8 a window; set pack.lookahead_windows_max: 4 or pack.lookahead_packs: 16");
  CHECK_ONE_HOLDS(with("pack: {lookahead_windows_max: 0}\n"), "pack.lookahead_packs: 0");
  CHECK(with("pack: {packs_per_window: 8, lookahead_packs: 16}\n").empty());
  CHECK(
      with("pack: {packs_per_window: 8, lookahead_packs: 0, lookahead_windows_max: 0}\n").empty());
  CHECK(with("pack: {packs_per_window: 8, strategy: sequential}\n").empty());
}

TEST_CASE("Rules: shuffle.size is needed for buffer and unused otherwise") {
  CHECK_ONE_HOLDS(with("shuffle: {kind: buffer}\n"), "job.yaml:4: shuffle.size: is missing");
  CHECK(with("shuffle: {kind: buffer, size: 10}\n").empty());
  CHECK(with("shuffle: {kind: none, size: 10}\n").empty());
}

TEST_CASE("Rules: sentencepiece needs a model that exists") {
  const JobFolder folder;
  CHECK_ONE_HOLDS(folder.mistakes(small_job(), {"encode.kind=sentencepiece"}),
                  "job.yaml:3: encode.model: is missing");
  CHECK_ONE(folder.mistakes(small_job(), {"encode.kind=sentencepiece", "encode.model=nope"}),
            "--set: encode.model: FOLDER/nope does not exist; paths are relative to the job file");
  CHECK_ONE_HOLDS(folder.mistakes(small_job(), {"encode.kind=sentencepiece", "encode.model=data"}),
                  "is a folder");
  const LoadedJob loaded =
      folder.load(small_job(), {"encode.kind=sentencepiece", "encode.model=tok.model"});
  CHECK(loaded.mistakes.empty());
  CHECK(loaded.job.encode.model == folder.at("tok.model"));
}

TEST_CASE("Rules: a line has an address for each process, all apart") {
  CHECK(with("line: {producers: [\"ipc:///run/p\"], sinks: [\"ipc:///run/s\"]}\n").empty());
  CHECK_ONE_HOLDS(with("line: {producers: [\"ipc:///run/p\"]}\n"), "line.sinks: is missing");
  CHECK_ONE_HOLDS(with("deliver: {dp_size: 2}\n"
                       "line: {producers: [\"ipc:///run/p\"], sinks: [\"ipc:///run/s\"]}\n"),
                  "job.yaml:5: line.sinks: 1 sinks for deliver.dp_size: 2");
  CHECK_ONE_HOLDS(with("lanes: 1\nline: {producers: [\"ipc:///p0\", \"ipc:///p1\"], "
                       "sinks: [\"ipc:///s\"]}\n"),
                  "2 producers for 1 lanes");
  CHECK_ONE_HOLDS(with("line: {producers: [\"tcp://127.0.0.1:5550\"], "
                       "sinks: [\"tcp://127.0.0.1:5552\"]}\n"),
                  "line.sinks.0: \"tcp://127.0.0.1:5552\" collides with line.producers.0");
  CHECK_ONE_HOLDS(with("line: {producers: [\"tcp://127.0.0.1:0\"], sinks: [\"ipc:///s\"]}\n"),
                  "job.yaml:4: line.producers.0: \"tcp://127.0.0.1:0\" must have a port");
}

TEST_CASE("Rules: the eval split's addresses are held against the same, and against the line's") {
  const auto line = [](const std::string& eval) {
    return "line: {producers: [\"ipc:///p\"], sinks: [\"ipc:///s\"], " + eval + "}\n";
  };
  CHECK(with(line("eval_producers: [\"ipc:///ep\"], eval_sinks: [\"ipc:///es\"]")).empty());
  CHECK(with("line: {eval_producers: [\"ipc:///ep\"], eval_sinks: [\"ipc:///es\"]}\n").empty());
  CHECK_ONE_HOLDS(with(line("eval_sinks: [\"ipc:///es\"]")), "line.eval_producers: is missing");
  CHECK_ONE_HOLDS(with(line("eval_producers: [\"ipc:///ep\"], eval_sinks: [\"ipc:///s\"]")),
                  "\"ipc:///s\" collides with line.");
  CHECK_ONE_HOLDS(with(line("eval_producers: [\"ipc:///ep\"], eval_sinks: [\"tcp://:0\"]")),
                  "line.eval_sinks.0: \"tcp://:0\"");
  CHECK_ONE_HOLDS(with(line("eval_producers: [\"ipc:///e0\", \"ipc:///e1\"], "
                            "eval_sinks: [\"ipc:///es\"]")),
                  "line.eval_producers: 2 producers; the eval split is read in order, by one");
  CHECK_ONE_HOLDS(with(line("eval_producers: [\"ipc:///ep\"], "
                            "eval_sinks: [\"ipc:///e0\", \"ipc:///e1\"]")),
                  "line.eval_sinks: 2 sinks for deliver.dp_size: 1");
}

TEST_CASE("Rules: a line that other hosts can reach says that it is not encrypted") {
  const std::string line = "line: {producers: [\"tcp://d:5550\"], sinks: [\"tcp://g:5550\"]";
  CHECK_ONE_HOLDS(with(line + "}\n"), "line.security: is missing; tcp://d:5550 can be reached");
  CHECK(with(line + ", security: none}\n").empty());
  const std::string local = "line: {producers: [\"ipc:///p\"], sinks: [\"ipc:///s\"], bind: any}\n";
  CHECK_ONE_HOLDS(with(local), "line.bind: any can be reached");
  CHECK_ONE_HOLDS(with(line + ", security: curve}\n"), "line.security: must be none, is curve");
}

TEST_CASE("Rules: a rule whose setting is wrong itself stays silent") {
  CHECK_ONE_HOLDS(with("deliver: {dp_size: 0}\npack: {packs_per_window: 3, lookahead_packs: 0}\n"
                       "shuffle: {size: 4}\n"),
                  "deliver.dp_size: must be an integer");
  CHECK_ONE_HOLDS(with("shuffle: {kind: bufer, size: 4}\n"), "did you mean buffer?");
}

}  // namespace packline::test

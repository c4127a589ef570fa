#include "lib/config/job.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/unit/config/job_folder.h"

namespace packline::test {

// A name is written as JSON and YAML: the file's may be any bytes.
TEST_CASE("Job: a file's name becomes a name of whole characters") {
  const JobFolder folder;
  for (const auto& [file, name] : std::vector<std::pair<std::string, std::string>>{
           {"plain.yaml", "plain"},
           {std::string(63, 'x') + "\u20ac.yaml", std::string(63, 'x')},
           {"a\xff\u00e9.yaml", "a_\u00e9"}}) {
    folder.write(file, small_job());
    const LoadedJob loaded = load_job(folder.at(file), {});
    CHECK(loaded.mistakes.empty());
    CHECK(loaded.job.name == name);
  }
}

TEST_CASE("Job: every setting arrives where it belongs") {
  const JobFolder folder;
  const LoadedJob loaded = folder.load(
      "version: 1\nname: quickstart\nseed: 17\nepochs: continuous\nstate: st\n"
      "sources:\n"
      "  - {path: \"data/*.jsonl\", format: chat, weight: 1, repeat: 2.5, fields: {role: from}}\n"
      "shuffle: {kind: buffer, size: 100}\nlanes: 8\non_bad_record: stop\n"
      "encode: {kind: sentencepiece, model: tok.model, threads: 2, add_bos: true, add_eos: false, "
      "roles: model, train: all}\n"
      "pack: {capacity: 2048, strategy: sequential, packs_per_window: 64, lookahead_packs: 16, "
      "lookahead_windows_max: 3, over_long: truncate_right, dp_size_multiple: 8}\n"
      "deliver: {dp_size: 4, ranks_per_dp_rank: 2, packs_per_optimizer_step: 16, remainder: "
      "spread, "
      "window_credit: 3, lease_ms: 500, warn_after_s: 1.5, fail_after_s: 60}\n"
      "line: {producers: [\"ipc:///p\"], sinks: [\"ipc:///a\", \"ipc:///b\", \"ipc:///c\", "
      "\"ipc:///d\"], bind: any, security: none}\n");
  CHECK(loaded.mistakes.empty());
  const Job& job = loaded.job;
  CHECK(job.name == "quickstart");
  CHECK(job.seed == 17);
  CHECK(job.epochs == kContinuous);
  CHECK(job.folder == std::filesystem::path(folder.at("x")).parent_path().string());
  CHECK(job.state == folder.at("st"));
  REQUIRE(job.sources.size() == 1);
  CHECK(job.sources[0].pattern == "data/*.jsonl");
  CHECK(job.sources[0].files ==
        std::vector<std::string>{folder.at("data/a.jsonl"), folder.at("data/b.jsonl")});
  CHECK(job.sources[0].format == Format::kChat);
  CHECK(job.sources[0].weight == 1);
  CHECK(job.sources[0].repeat == 2.5);
  CHECK(job.sources[0].fields.role == "from");
  CHECK(job.sources[0].fields.content == "content");
  CHECK(job.shuffle.kind == ShuffleKind::kBuffer);
  CHECK(job.shuffle.size == 100);
  CHECK(job.lanes == 8);
  CHECK(job.on_bad_record == BadRecord::kStop);
  CHECK(job.encode.kind == EncodeKind::kSentencePiece);
  CHECK(job.encode.model == folder.at("tok.model"));
  CHECK(job.encode.threads == 2);
  CHECK(job.encode.add_bos);
  CHECK_FALSE(job.encode.add_eos);
  CHECK(job.encode.roles == EncodeSettings::Roles::kModel);
  CHECK(job.encode.train == EncodeSettings::Train::kAll);
  CHECK(job.pack.seed == 17);
  CHECK(job.pack.capacity == 2048);
  CHECK(job.pack.strategy == Strategy::kSequential);
  CHECK(job.pack.packs_per_window == 64);
  CHECK(job.pack.lookahead_packs == 16);
  CHECK(job.pack.lookahead_windows_max == 3);
  CHECK(job.pack.over_long == OverLong::kTruncateRight);
  CHECK(job.pack.dp_size_multiple == 8);
  CHECK(job.deliver.dp_size == 4);
  CHECK(job.deliver.ranks_per_dp_rank == 2);
  CHECK(job.deliver.packs_per_optimizer_step == 16);
  CHECK(job.deliver.window_credit == 3);
  CHECK(job.deliver.times.lease == std::chrono::milliseconds(500));
  CHECK(job.deliver.times.warn_after == std::chrono::milliseconds(1500));
  CHECK(job.deliver.times.fail_after == std::chrono::seconds(60));
  CHECK(job.line.producers == std::vector<std::string>{"ipc:///p"});
  CHECK(job.line.sinks.size() == 4);
  CHECK(job.line.bind_any);
  CHECK(job.line.security_none);
}

TEST_CASE("Job: the smallest job has defaults for everything else") {
  const JobFolder folder;
  const LoadedJob loaded = folder.load(small_job());
  CHECK(loaded.mistakes.empty());
  CHECK(loaded.job.name == "job");
  CHECK(loaded.job.state == folder.at(".packline"));
  CHECK(loaded.job.pack.capacity == 8192);
  CHECK(loaded.job.line.producers.empty());
}

TEST_CASE("Job: all mistakes are told at once, in the order of the lines") {
  const JobFolder folder;
  const std::vector<std::string> found = folder.mistakes(
      "version: 2\n"
      "sources:\n"
      "  - {path: nope.jsonl, format: chat}\n"
      "  - {format: json}\n"
      "pack:\n"
      "  capacity: -3\n"
      "  max_length: 4096\n"
      "  over_long: cut\n"
      "  capacity: 8\n"
      "encode: {kind: bytes, add_eos: yes}\n"
      "lane: 4\n"
      "seed: 0x10\n",
      {"deliver.dp_size=many"});
  CHECK(
      found ==
      std::vector<std::string>{
          "job.yaml:1: version: must be 1, is 2",
          "job.yaml:3: sources.0.path: \"nope.jsonl\" does not exist; paths are relative to the "
          "job "
          "file, so this is FOLDER/nope.jsonl",
          "job.yaml:4: sources.1.format: must be one of text, chat, tokens, any, is json",
          "job.yaml:4: sources.1.path: is missing; it must be a text of 1 to 4096 bytes",
          "job.yaml:6: pack.capacity: must be an integer from 1 to 16777216 (tokens), is -3",
          "job.yaml:7: pack.max_length: unknown; packline calls it pack.capacity",
          "job.yaml:8: pack.over_long: must be one of drop, error, truncate_right, truncate_left, "
          "split, is cut",
          "job.yaml:9: capacity is given twice, first in line 6; keep one of them",
          "job.yaml:10: encode.add_eos: must be true or false, is yes; write true",
          "job.yaml:11: lane: unknown; did you mean lanes? the top level has: version, name, seed, "
          "epochs, split, state, sources, shuffle, lanes, on_bad_record, encode, pack, deliver, "
          "eval, line",
          "job.yaml:12: seed: must be an integer from 0 to 9223372036854775807, is 0x10; write 16",
          "--set: deliver.dp_size: must be an integer from 1 to 65536 (ranks), is many"});
}

TEST_CASE("Job: what is missing is told, a misspelt one only as misspelt") {
  const JobFolder folder;
  CHECK(folder.mistakes("seed: 1\n") ==
        std::vector<std::string>{
            "job.yaml: version: is missing; it must be 1",
            "job.yaml: encode.kind: is missing; it must be one of tokens, bytes, sentencepiece, "
            "python, hf",
            "job.yaml: sources: is missing; name at least one source: [{path: \"data/*.jsonl\", "
            "format: text}]"});
  CHECK_ONE_HOLDS(folder.mistakes("version: 1\nsorces: []\nencode: {kind: bytes}\n"),
                  "job.yaml:2: sorces: unknown; did you mean sources?");
  CHECK_ONE_HOLDS(folder.mistakes("version: 1\ndataset: x\nencode: {kind: bytes}\n"),
                  "job.yaml:2: dataset: unknown; packline calls it sources");
  CHECK_ONE_HOLDS(folder.mistakes("version: 1\nsources: [{pth: data/a.jsonl, format: text}]\n"
                                  "encode: {kind: bytes}\n"),
                  "job.yaml:2: sources.0.pth: unknown; did you mean sources.0.path?");
}

TEST_CASE("Job: a section or list of the wrong shape is named") {
  const JobFolder folder;
  const std::string rest = "version: 1\nencode: {kind: bytes}\n";
  CHECK_ONE_HOLDS(folder.mistakes(rest + "sources: data/a.jsonl\n"), "sources: must be a list");
  CHECK_ONE_HOLDS(folder.mistakes(rest + "sources: {path: data/a.jsonl}\n"), "is a map");
  CHECK_ONE_HOLDS(folder.mistakes(rest + "sources: []\n"), "must name 1 to 1000 sources");
  CHECK_ONE_HOLDS(
      folder.mistakes(rest + "sources: [data/a.jsonl]\n"),
      "sources.0: must be a map, {path: \"data/*.jsonl\", format: text}, is data/a.jsonl");
  CHECK_ONE_HOLDS(folder.mistakes(small_job("pack: 8192\n")),
                  "job.yaml:4: pack: must be a map of settings, is 8192");
  CHECK(folder.mistakes(small_job("pack:\nshuffle: {}\n")).empty());
  CHECK_ONE_HOLDS(folder.mistakes(small_job("pack.capacity: 8\n")), "maps inside each other");
}

TEST_CASE("Job: a file that is no job file is one sentence") {
  const JobFolder folder;
  CHECK_ONE_HOLDS(folder.mistakes(""), "job.yaml: the job file is empty");
  CHECK_ONE_HOLDS(folder.mistakes("# nothing\n"), "the job file is empty");
  CHECK_ONE_HOLDS(folder.mistakes("- a\n- b\n"), "job.yaml:1: the job file must be a map");
  CHECK_ONE_HOLDS(folder.mistakes("hello\n"), "must be a map of settings");
  CHECK_ONE_HOLDS(folder.mistakes(small_job() + "---\nversion: 1\n"), "one document");
  CHECK_ONE_HOLDS(folder.mistakes(std::string(1048577, '#')), "more than 1048576 bytes");
  CHECK_ONE_HOLDS(folder.mistakes("version: 1\n\tseed: 2\n"), "tab");
}

TEST_CASE("Job: a file that cannot be read is one sentence") {
  const JobFolder folder;
  const auto only = [](const std::string& file) {
    const LoadedJob loaded = load_job(file, {});
    REQUIRE(loaded.mistakes.size() == 1);
    CHECK(loaded.mistakes[0].line == 0);
    return loaded.mistakes[0].line_text();
  };
  CHECK(only(folder.at("none.yaml")) == folder.at("none.yaml") + ": the job file does not exist");
  CHECK(contains(only(folder.at("data")), "the job file is a folder"));
  REQUIRE(::mkfifo(folder.at("pipe").c_str(), 0600) == 0);
  CHECK(contains(only(folder.at("pipe")), "is no regular file"));
  CHECK(contains(only(""), "does not exist"));
}

TEST_CASE("Job: the state must be a folder if it is there") {
  const JobFolder folder;
  CHECK_ONE_HOLDS(folder.mistakes(small_job("state: tok.model\n")),
                  "job.yaml:4: state: FOLDER/tok.model is no folder");
}

TEST_CASE("Job: very many mistakes are cut, and that is said") {
  const JobFolder folder;
  std::string job = small_job();
  for (int i = 0; i < 5000; ++i) job += fmt::format("key{}: 1\n", i);
  const std::vector<std::string> found = folder.mistakes(job);
  CHECK(found.size() == 101);
  CHECK(contains(found.back(), "100 mistakes or more"));
}

}  // namespace packline::test

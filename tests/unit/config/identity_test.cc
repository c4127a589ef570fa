#include <fmt/format.h>

#include <algorithm>

#include "lib/config/keys.h"
#include "lib/hash/xxh3.h"
#include "tests/unit/config/job_folder.h"

namespace packline::test {
namespace {

using Identity = std::vector<std::pair<std::string, std::string>>;

Job identified(const std::vector<std::string>& sets = {}, const std::string& more = "",
               std::uint64_t content = 7, const std::string& encoder = "bytes 1") {
  const JobFolder folder;
  LoadedJob loaded = folder.load(small_job(more), sets);
  for (const Mistake& m : loaded.mistakes) FAIL_CHECK(m.line_text());
  identify(loaded.job, std::vector<std::uint64_t>(loaded.job.sources.size(), content), encoder);
  return loaded.job;
}

std::size_t bytes_of(const Identity& identity) {
  std::size_t n = 0;
  for (const auto& [key, value] : identity) n += key.size() + value.size() + 4;
  return n;
}

}  // namespace

TEST_CASE("Identity: settings in one fixed order, and its hash") {
  const Job job = identified();
  CHECK(job.identity == Identity{{"stream_version", "1"},
                                 {"seed", "0"},
                                 {"lanes", "4"},
                                 {"shuffle.kind", "full"},
                                 {"sources.0.path", "data/a.jsonl"},
                                 {"sources.0.format", "text"},
                                 {"sources.0.content", "0000000000000007"},
                                 {"encode.kind", "bytes"},
                                 {"encode.add_bos", "false"},
                                 {"encode.add_eos", "true"},
                                 {"encoder", "bytes 1"},
                                 {"pack.capacity", "8192"},
                                 {"pack.strategy", "best_fit_decreasing"},
                                 {"pack.packs_per_window", "256"},
                                 {"pack.lookahead_packs", "256"},
                                 {"pack.lookahead_samples_max", "256"},
                                 {"pack.lookahead_windows_max", "8"},
                                 {"pack.over_long", "drop"},
                                 {"pack.dp_size_multiple", "1"},
                                 {"deliver.remainder", "spread"}});
  std::string text;
  for (const auto& [key, value] : job.identity) text += key + "=" + value + "\n";
  CHECK(job.fingerprint == xxh3(text));
  CHECK(fingerprint_of(job.identity) == job.fingerprint);
  CHECK(job.shape().fingerprint == job.fingerprint);
}

// `job` is a fingerprint of everything that determines the stream; dp_size, endpoints, credit and
// process counts are not in it: they may change at a resume.
TEST_CASE("Identity: a setting that alters the stream alters it, and is named") {
  const Job was = identified();
  const std::pair<const char*, const char*> cases[] = {
      {"seed=5", "seed: 5, was 0"},
      {"lanes=2", "lanes: 2, was 4"},
      {"shuffle.kind=none", "shuffle.kind: none, was full"},
      {"sources.0.path=data/b.jsonl", "sources.0.path: data/b.jsonl, was data/a.jsonl"},
      {"sources.0.weight=2", "sources.0.weight: 2, was not set"},
      {"sources.0.repeat=2.5", "sources.0.repeat: 2.5, was not set"},
      {"sources.0.format=chat", "sources.0.format: chat, was text"},
      {"encode.add_bos=true", "encode.add_bos: true, was false"},
      {"encode.add_eos=false", "encode.add_eos: false, was true"},
      {"pack.capacity=4096", "pack.capacity: 4096, was 8192"},
      {"pack.strategy=sequential", "pack.strategy: sequential, was best_fit_decreasing"},
      {"pack.packs_per_window=512", "pack.packs_per_window: 512, was 256"},
      {"pack.lookahead_packs=31", "pack.lookahead_packs: 31, was 256"},
      {"pack.lookahead_windows_max=3", "pack.lookahead_windows_max: 3, was 8"},
      {"pack.over_long=error", "pack.over_long: error, was drop"},
      {"pack.dp_size_multiple=2", "pack.dp_size_multiple: 2, was 1"}};
  for (const auto& [set, sentence] : cases) {
    CAPTURE(set);
    const Job now = identified({set});
    CHECK(now.fingerprint != was.fingerprint);
    CHECK(first_difference(now.identity, was.identity) == sentence);
  }
  CHECK(identified({"sources.0.fields.text=t"}).fingerprint != was.fingerprint);
  CHECK(first_difference(identified({}, "", 8).identity, was.identity) ==
        "sources.0.content: 0000000000000008, was 0000000000000007");
  CHECK(first_difference(identified({}, "", 7, "bytes 2").identity, was.identity) ==
        "encoder: bytes 2, was bytes 1");
  CHECK(first_difference(was.identity, was.identity) == "");
  CHECK(first_difference(was.identity, identified({"sources.0.weight=2"}).identity) ==
        "sources.0.weight: not set, was 2");
}

TEST_CASE("Identity: of an encoder in processes it names the function and its version alone") {
  const std::vector<std::string> own{"encode.kind=python", "encode.function=\"m:f\""};
  const auto with = [&](const std::string& set) {
    std::vector<std::string> sets = own;
    sets.push_back(set);
    return identified(sets).identity;
  };
  const Identity was = identified(own).identity;
  CHECK(std::ranges::find(was, Identity::value_type{"encode.kind", "python"}) != was.end());
  CHECK(std::ranges::find(was, Identity::value_type{"encode.function", "m:f"}) != was.end());
  CHECK(std::ranges::none_of(was, [](const auto& e) { return e.first == "encode.add_eos"; }));
  CHECK(first_difference(with("encode.version=\"2\""), was) == "encode.version: 2, was not set");
  CHECK(first_difference(with("encode.function=\"m:g\""), was) == "encode.function: m:g, was m:f");
  for (const char* set : {"encode.processes=7", "encode.batch_records=5", "encode.lease_s=1",
                          "encode.path=elsewhere", "encode.python=python3.9"}) {
    CAPTURE(set);
    CHECK(first_difference(with(set), was) == "");
  }
}

TEST_CASE("Identity: what may change at a resume does not alter it") {
  const Job was = identified({"pack.dp_size_multiple=4"});
  for (const char* set :
       {"name=other", "state=elsewhere", "epochs=9", "on_bad_record=stop", "encode.threads=9",
        "deliver.dp_size=4", "deliver.ranks_per_dp_rank=2", "deliver.packs_per_optimizer_step=3",
        "deliver.window_credit=9", "deliver.lease_ms=100", "deliver.warn_after_s=1",
        "deliver.fail_after_s=99", "line={producers: [\"ipc:///p\"], sinks: [\"ipc:///s\"]}",
        "sources.0.path=./data/../data/a.jsonl", "shuffle.size=9", "encode.model=other"}) {
    CAPTURE(set);
    CHECK(first_difference(identified({"pack.dp_size_multiple=4", set}).identity, was.identity) ==
          "");
  }
}

TEST_CASE("Identity: the chat settings count where there is a chat") {
  const Job was = identified({"sources.0.format=chat"});
  CHECK(first_difference(identified({"sources.0.format=chat", "encode.train=all"}).identity,
                         was.identity) == "encode.train: all, was assistant");
  CHECK(first_difference(identified({"sources.0.format=chat", "encode.roles=model"}).identity,
                         was.identity) == "encode.roles: model, was text");
}

TEST_CASE("Identity: how files are read counts where it is set") {
  const Job was = identified();
  CHECK(first_difference(identified({"sources.0.read_as=lines"}).identity, was.identity) ==
        "sources.0.read_as: lines, was not set");
  CHECK(first_difference(identified({"sources.0.record=sequence"}).identity, was.identity) ==
        "sources.0.record: sequence, was not set");
  CHECK(first_difference(identified({"sources.0.record=document"}).identity, was.identity) == "");
}

TEST_CASE("Identity: the folder of the job may move") {
  CHECK(identified().fingerprint == identified().fingerprint);  // each in a folder of its own
}

TEST_CASE("Identity: long values are hashed, many sources are one entry, all stays small") {
  const std::string more;
  const Job longer = identified({"encode.add_bos=true"}, "", 7, std::string(100, 'm'));
  for (const auto& [key, value] : longer.identity) CHECK(value.size() <= 24);

  const JobFolder folder;
  const auto with_sources = [&](std::size_t n, std::uint64_t last) {
    std::string yaml = "version: 1\nencode: {kind: bytes}\nsources:\n";
    for (std::size_t i = 0; i < n; ++i) yaml += "  - {path: data/a.jsonl, format: text}\n";
    Job job = folder.load(yaml).job;
    REQUIRE(job.sources.size() == n);
    std::vector<std::uint64_t> contents(n, 1);
    contents.back() = last;
    identify(job, contents, "bytes");
    return job;
  };
  CHECK(bytes_of(with_sources(3, 1).identity) < 1000);
  CHECK(bytes_of(with_sources(8, 1).identity) < 1500);
  CHECK(bytes_of(with_sources(900, 1).identity) < 700);
  const std::string difference =
      first_difference(with_sources(900, 2).identity, with_sources(900, 1).identity);
  CHECK(difference.starts_with("sources.all: "));
  CHECK(first_difference(with_sources(10, 1).identity, with_sources(9, 1).identity) ==
        "sources: 10, was 9");
}

}  // namespace packline::test

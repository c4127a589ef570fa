#include "lib/config/overrides.h"

#include "tests/unit/config/job_folder.h"

namespace packline::test {
namespace {

Job loaded(const std::vector<std::string>& sets) {
  const JobFolder folder;
  LoadedJob job = folder.load(small_job(), sets);
  for (const Mistake& m : job.mistakes) FAIL_CHECK(m.line_text());
  return job.job;
}

std::vector<std::string> mistakes(const std::vector<std::string>& sets) {
  return JobFolder().mistakes(small_job(), sets);
}

}  // namespace

TEST_CASE("Set: a value replaces the file's, makes absent maps, and the last one counts") {
  CHECK(loaded({"pack.capacity=4096"}).pack.capacity == 4096);
  CHECK(loaded({"pack.capacity=4096", "pack.capacity=16"}).pack.capacity == 16);
  CHECK(loaded({"sources.0.format=chat"}).sources[0].format == Format::kChat);
  CHECK(loaded({"sources.0.fields.text=body"}).sources[0].fields.text == "body");
  CHECK(loaded({"pack={capacity: 5, over_long: error}"}).pack.over_long == OverLong::kError);
  CHECK(loaded({"name=a=b"}).name == "a=b");
}

TEST_CASE("Set: the next index of a list is appended") {
  const Job job = loaded({"sources.1.path=data/b.jsonl", "sources.1.format=text"});
  REQUIRE(job.sources.size() == 2);
  CHECK(job.sources[1].pattern == "data/b.jsonl");
  CHECK(loaded({"line.producers.0=ipc:///p", "line.sinks=[\"ipc:///s\"]"}).line.producers ==
        std::vector<std::string>{"ipc:///p"});
  CHECK_ONE(mistakes({"sources.3.path=x"}),
            "--set: sources.3.path: the list has 1 items; the next one is number 1");
}

TEST_CASE("Set: a wrong path gets the nearest name and changes nothing") {
  CHECK_ONE_HOLDS(mistakes({"pack.capcity=1"}),
                  "--set: pack.capcity: unknown; did you mean pack.capacity?");
  CHECK_ONE(mistakes({"pack.max_length=1"}),
            "--set: pack.max_length: unknown; packline calls it pack.capacity");
  CHECK_ONE_HOLDS(mistakes({"sources.path=x"}),
                  "sources is a list; name an item of it by its number");
  CHECK_ONE_HOLDS(mistakes({"sources.-1.path=x"}), "sources is a list");
  CHECK_ONE_HOLDS(mistakes({"seed.x=1"}), "seed is a value; there is nothing inside it");
  CHECK_ONE_HOLDS(mistakes({"pack..capacity=1"}), "without empty names");
  CHECK_ONE_HOLDS(mistakes({"a.b.c.d.e.f.g.h.i.j=1"}), "deeper than any setting");
  CHECK_ONE_HOLDS(mistakes({"sources[].path=x"}), "--set: sources[].path: unknown");
}

TEST_CASE("Set: what is no key=value, or no YAML, is a mistake with its key") {
  CHECK_ONE_HOLDS(mistakes({"pack.capacity"}), "--set: pack.capacity: write it as key=value");
  CHECK_ONE_HOLDS(mistakes({"=1"}), "write it as key=value");
  CHECK_ONE_HOLDS(mistakes({""}), "--set: write it as key=value");
  CHECK_ONE_HOLDS(mistakes({"pack.capacity=[1"}), "--set: pack.capacity: this is no YAML");
  CHECK_ONE_HOLDS(mistakes({"sources.0.path=*.jsonl"}), "in quotes: \"*.jsonl\"");
  CHECK_ONE_HOLDS(mistakes({"pack.capacity="}), "--set: pack.capacity: must be an integer");
  CHECK_ONE_HOLDS(mistakes({"pack={capacity: 1, capacity: 2}"}), "given twice");
  CHECK_ONE_HOLDS(mistakes({"pack={capcity: 1}"}), "--set: pack.capcity: unknown");
}

TEST_CASE("Set: a mistake of the file itself is told once, not again by the set") {
  const JobFolder folder;
  const auto found = folder.mistakes(small_job("pack: 3\n"), {"pack.capacity=1"});
  REQUIRE(found.size() == 2);
  CHECK(contains(found[0], "job.yaml:4: pack: must be a map"));
  CHECK(
      contains(found[1], "--set: pack.capacity: cannot be set, since what the file has around it"));
}

}  // namespace packline::test

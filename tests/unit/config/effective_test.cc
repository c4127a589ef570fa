#include "lib/config/keys.h"
#include "lib/config/yaml_tree.h"
#include "tests/unit/config/job_folder.h"

namespace packline::test {

TEST_CASE("Effective: it reads as a job file with every value in effect") {
  const JobFolder folder;
  const std::string text = effective_yaml(folder.load(small_job("deliver: {dp_size: 4}\n")).job);
  CHECK(contains(text, "version: 1\nname: job\nseed: 0\nepochs: 1\n"));
  CHECK(
      contains(text,
               "sources:\n  - path: data/a.jsonl\n    read_as: auto\n    format: text\n    record: "
               "document\n    repeat: 1\n"
               "    fields:\n      text: text\n"));
  CHECK(contains(text, "shuffle:\n  kind: full\nlanes: 4\n"));
  CHECK(contains(text, "  dp_size_multiple: 4\n"));
  CHECK(contains(text, "  warn_after_s: 30\n"));
}

TEST_CASE("Effective: loaded again it is the same job") {
  const JobFolder folder;
  folder.write("data/o'dd \"name\".jsonl", "");
  const std::vector<std::vector<std::string>> jobs{
      {},
      {"epochs=continuous", "name=\"yes\"", "seed=9223372036854775807"},
      {"sources.0.path='data/o''dd \"name\".jsonl'", "sources.0.fields.text='8'"},
      {"sources.1={path: \"data/*.jsonl\", format: chat, weight: 0.1, repeat: 2.5}",
       "sources.0.weight=3"},
      {"shuffle={kind: buffer, size: 5}", "encode={kind: sentencepiece, model: tok.model}"},
      {"line={producers: [\"tcp://d:5550\"], sinks: [\"tcp://g:5550\"], bind: any, security: "
       "none}"},
      {"deliver={warn_after_s: 0.25, lease_ms: 50}", "on_bad_record=stop"}};
  for (const auto& sets : jobs) {
    CAPTURE(sets.empty() ? "" : sets[0]);
    Job first = folder.load(small_job(), sets).job;
    const std::string text = effective_yaml(first);
    LoadedJob again = folder.load(text);
    CHECK(folder.mistakes(text) == std::vector<std::string>{});
    CHECK(effective_yaml(again.job) == text);
    const std::vector<std::uint64_t> contents(first.sources.size(), 3);
    identify(first, contents, "e");
    identify(again.job, contents, "e");
    CHECK(first.identity == again.job.identity);
    CHECK(again.job.sources.size() == first.sources.size());
    CHECK(again.job.sources[0].files == first.sources[0].files);
    CHECK(again.job.epochs == first.epochs);
    CHECK(again.job.deliver.times.warn_after == first.deliver.times.warn_after);
  }
}

}  // namespace packline::test

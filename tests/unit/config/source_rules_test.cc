#include <string>
#include <vector>

#include "lib/config/rules.h"
#include "tests/unit/config/job_folder.h"

namespace packline::test {
namespace {

// A job whose one source is this.
std::string job_of(const std::string& source, const std::string& encode = "bytes") {
  return "version: 1\nencode: {kind: " + encode + "}\nsources:\n  - {" + source + "}\n";
}

}  // namespace

TEST_CASE("Source rules: weights are given to all sources or to none") {
  const JobFolder folder;
  const std::string job =
      "version: 1\nencode: {kind: bytes}\nsources:\n"
      "  - {path: data/a.jsonl, format: text, weight: 2}\n"
      "  - {path: data/b.jsonl, format: text}\n";
  CHECK_ONE(folder.mistakes(job),
            "job.yaml:5: sources.1.weight: is missing; 1 of 2 sources have a weight, give one to "
            "all of them or to none");
  CHECK(folder.mistakes(job, {"sources.1.weight=1"}).empty());
}

TEST_CASE("Source rules: formats and encoder go together") {
  const JobFolder folder;
  CHECK_ONE_HOLDS(folder.mistakes(small_job(), {"encode.kind=tokens"}),
                  "job.yaml:2: sources.0.format: encode.kind: tokens takes ready token ids only");
  CHECK_ONE_HOLDS(folder.mistakes(small_job(), {"sources.0.format=tokens"}),
                  "--set: sources.0.format: format: tokens needs encode.kind: tokens");
  CHECK(folder.mistakes(small_job(), {"sources.0.format=tokens", "encode.kind=tokens"}).empty());
}

TEST_CASE("Source rules: an encoder of one's own takes every format, any is for it alone") {
  const JobFolder folder;
  const std::vector<std::string> own{"encode.kind=python", "encode.function=\"m:f\""};
  for (const char* format : {"text", "chat", "tokens", "any"}) {
    CAPTURE(format);
    std::vector<std::string> sets = own;
    sets.push_back(std::string("sources.0.format=") + format);
    CHECK(folder.mistakes(small_job(), sets).empty());
  }
  folder.write("here/tokenizer.json", "{}");
  const std::vector<std::string> hf{"encode.kind=hf", "encode.model=here"};
  CHECK_ONE_HOLDS(folder.mistakes(small_job(), {"sources.0.format=tokens", hf[0], hf[1]}),
                  "sources.0.format: format: tokens needs encode.kind: tokens");
  CHECK_ONE_HOLDS(folder.mistakes(small_job(), {"sources.0.format=any"}),
                  "--set: sources.0.format: format: any is for an encoder of your own");
  CHECK(folder
            .mistakes(job_of("path: data/a.jsonl, format: any, read_as: lines",
                             "python, function: \"m:f\""))
            .empty());
}

TEST_CASE("Source rules: two fields cannot have one name") {
  const JobFolder folder;
  CHECK_ONE_HOLDS(folder.mistakes(small_job(), {"sources.0.fields.labels=input_ids"}),
                  "sources.0.fields.labels: input_ids is already what fields.input_ids names");
  CHECK_ONE_HOLDS(folder.mistakes(small_job(), {"sources.0.fields.content=role"}),
                  "role is already what fields.role names");
}

TEST_CASE("Source rules: what read_as gives and the format go together") {
  const JobFolder folder;
  folder.write("a.idx", "");
  folder.write("a.bin", "");
  CHECK(folder.mistakes(job_of("path: data/a.jsonl, format: text, read_as: lines")).empty());
  CHECK(folder.mistakes(job_of("path: data/a.jsonl, format: text, read_as: files")).empty());
  CHECK(folder.mistakes(job_of("path: data/a.jsonl, format: chat, read_as: json")).empty());
  CHECK(
      folder.mistakes(job_of("path: a.bin, format: tokens, read_as: megatron", "tokens")).empty());
  CHECK_ONE(
      folder.mistakes(job_of("path: data/a.jsonl, format: chat, read_as: lines")),
      "job.yaml:4: sources.0.read_as: read_as: lines gives plain text, which does not go with "
      "format: chat; set format: text, or read_as: jsonl or json if the files hold JSON");
  CHECK_ONE(folder.mistakes(job_of("path: a.idx, format: text, read_as: megatron")),
            "job.yaml:4: sources.0.read_as: read_as: megatron gives token ids, which does not go "
            "with format: text; set format: tokens, or read_as: jsonl or json if the files hold "
            "JSON");
  CHECK_ONE_HOLDS(folder.mistakes(job_of("path: data/a.jsonl, format: text, read_as: line")),
                  "sources.0.read_as: ");
}

TEST_CASE("Source rules: where read_as is auto, the files' names and the format go together") {
  const JobFolder folder;
  folder.write("d/a.jsonl", "{}");
  folder.write("d/b.txt.gz", "x");
  CHECK(folder.mistakes(job_of("path: \"d/*\", format: text")).empty());
  CHECK_ONE(folder.mistakes(job_of("path: \"d/*\", format: chat")),
            "job.yaml:4: sources.0.format: FOLDER/d/b.txt.gz is read as lines because of its name; "
            "read_as: lines gives plain text, which does not go with format: chat; set format: "
            "text, or read_as: jsonl or json if the files hold JSON");
  CHECK(folder.mistakes(job_of("path: \"d/*\", format: chat, read_as: jsonl")).empty());
}

TEST_CASE("Source rules: a Megatron source is a pair of files") {
  const JobFolder folder;
  folder.write("m/a.idx", "");
  CHECK_ONE(folder.mistakes(job_of("path: m/a.idx, format: tokens", "tokens")),
            "job.yaml:4: sources.0.path: FOLDER/m/a.bin does not exist; a Megatron source is the "
            "pair NAME.idx and NAME.bin");
  folder.write("m/a.bin", "");
  CHECK(folder.mistakes(job_of("path: m/a.idx, format: tokens", "tokens")).empty());
  CHECK(folder.mistakes(job_of("path: \"m/a.*\", format: tokens", "tokens")).empty());
  folder.write("m/b.idx.gz", "x");
  CHECK_ONE_HOLDS(folder.mistakes(job_of("path: m/b.idx.gz, format: tokens", "tokens")),
                  "job.yaml:4: sources.0.path: FOLDER/m/b.idx.gz does not end in .idx or .bin");
}

TEST_CASE("Source rules: record: sequence is of Megatron pairs") {
  const JobFolder folder;
  CHECK_ONE(folder.mistakes(job_of("path: data/a.jsonl, format: text, read_as: jsonl, record: "
                                   "sequence")),
            "job.yaml:4: sources.0.record: sequence says something about Megatron pairs only, and "
            "read_as is jsonl; leave it out");
  CHECK(
      folder.mistakes(job_of("path: data/a.jsonl, format: text, read_as: jsonl, record: document"))
          .empty());
}

}  // namespace packline::test

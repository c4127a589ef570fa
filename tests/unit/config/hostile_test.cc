#include <fmt/format.h>

#include <ctime>

#include "lib/base/random.h"
#include "lib/config/keys.h"
#include "lib/config/yaml_tree.h"
#include "tests/unit/config/job_folder.h"

// A job file may come from anywhere: whatever its bytes, reading it ends soon, with a job or with
// sentences.

namespace packline::test {
namespace {

// Every sentence must be printable and bounded.
void check_told(const LoadedJob& loaded) {
  CHECK(loaded.mistakes.size() <= 101);
  for (const Mistake& mistake : loaded.mistakes) {
    CHECK(mistake.text.size() > 5);
    CHECK(mistake.text.size() < 9000);
    for (const char c : mistake.text + mistake.key) {
      const bool control = static_cast<unsigned char>(c) < 0x20;
      CHECK_FALSE(control);
    }
  }
}

std::string reference() {
  return read_all(std::string(PACKLINE_SOURCE_DIR) + "/config/job.reference.yaml");
}

}  // namespace

TEST_CASE("Hostile: random bytes are sentences, never a crash") {
  const JobFolder folder;
  Rng rng(1);
  for (int i = 0; i < 700; ++i) {
    std::string text;
    const std::uint64_t size = rng.below(200);
    for (std::uint64_t k = 0; k < size; ++k) text += static_cast<char>(rng.below(256));
    const LoadedJob loaded = folder.load(text);
    CHECK_FALSE(loaded.mistakes.empty());
    check_told(loaded);
  }
}

TEST_CASE("Hostile: random YAML punctuation is sentences, never a crash") {
  const JobFolder folder;
  static const std::string kParts[] = {
      "[",     "]",     "{",   "}",    ":",       ": ", ",", "- ", "? ", "&a ",  "*a",
      "!t ",   "|\n",   ">\n", "'",    "\"",      "#",  "%", "@",  "\n", "\n  ", "\t",
      "---\n", "...\n", "a",   "pack", "sources", "1",  "~", "<<", "\\", " ",    "version: 1\n"};
  Rng rng(2);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    const std::uint64_t size = 1 + rng.below(40);
    for (std::uint64_t k = 0; k < size; ++k) text += kParts[rng.below(std::size(kParts))];
    check_told(folder.load(text));
  }
}

TEST_CASE("Hostile: a job with a byte changed or cut off is a job or sentences") {
  const JobFolder folder;
  const std::string whole = effective_yaml(folder.load(small_job()).job);
  Rng rng(3);
  for (int i = 0; i < 700; ++i) {
    std::string text = whole;
    text[rng.below(text.size())] = static_cast<char>(rng.below(256));
    check_told(folder.load(text));
    check_told(folder.load(whole.substr(0, rng.below(whole.size()))));
  }
}

TEST_CASE("Hostile: large files of one kind of thing end soon") {
  const JobFolder folder;
  const std::size_t most = kYamlBytesMax;
  const std::clock_t began = std::clock();  // of this process: other load does not count
  for (const std::string part :
       {"[",  "{",   "- ",    "? ",    "a: ",    "{a: ", "&a ",  "*a ", "!t ", "'",
        "\"", "|\n", "a\n",   "- a\n", "a: 1\n", "#",    "\n",   "\t",  "[],", "x",
        ": ", ",",   "---\n", "]",     "? a\n",  "\"\\", "- - ", "%x\n"}) {
    std::string text;
    while (text.size() + part.size() <= most) text += part;
    CAPTURE(part);
    check_told(folder.load(text));
    check_told(folder.load(small_job("pack: {capacity: [" + text.substr(0, most / 2))));
  }
  std::string names = small_job();
  for (int i = 0; names.size() < most - 20; ++i) names += fmt::format("k{}: 1\n", i);
  check_told(folder.load(names));
  CHECK((std::clock() - began) / CLOCKS_PER_SEC < 120);
}

TEST_CASE("Hostile: very long names and values make short sentences") {
  const JobFolder folder;
  const std::string name(1000, 'n');
  const auto found = folder.mistakes(small_job(name + ": " + name + "\nlanes: " + name + "\n"));
  REQUIRE(found.size() == 2);
  for (const std::string& text : found) CHECK(text.size() < 400);
}

TEST_CASE("Hostile: random --set texts are sentences") {
  const JobFolder folder;
  static const std::string kParts[] = {"pack", "sources",  ".",  "0",      "1",
                                       "=",    "capacity", "[",  "]",      "{",
                                       "}",    "path",     "\n", "*",      "\xff",
                                       "line", "sinks",    " ",  "fields", "99999999999999999999"};
  Rng rng(4);
  for (int i = 0; i < 1000; ++i) {
    std::string set;
    const std::uint64_t size = rng.below(10);
    for (std::uint64_t k = 0; k < size; ++k) set += kParts[rng.below(std::size(kParts))];
    check_told(folder.load(small_job(), {set}));
  }
}

TEST_CASE("Hostile: every key with every wrong kind of value is told under its own name") {
  const JobFolder folder;
  for (const Key& key : job_keys()) {
    std::string path = key.path;
    if (const std::size_t at = path.find("[]"); at != std::string::npos) path.replace(at, 2, ".0");
    for (const char* value : {"{a: 1}", "[[1]]", "''", "[]", "-1e999"}) {
      if ((key.type == KeyType::kText) && std::string(value) == "-1e999") continue;
      CAPTURE(path);
      CAPTURE(value);
      const LoadedJob loaded = folder.load(small_job(), {path + "=" + value});
      check_told(loaded);
      REQUIRE_FALSE(loaded.mistakes.empty());
      CHECK(loaded.mistakes.back().key.starts_with(path));
      CHECK(loaded.mistakes.back().file == "--set");
    }
  }
}

TEST_CASE("Hostile: the reference file survives losing any one line") {
  const JobFolder folder;
  const std::string whole = reference();
  for (std::size_t begin = 0; begin < whole.size();) {
    const std::size_t end = whole.find('\n', begin) + 1;
    check_told(folder.load(whole.substr(0, begin) + whole.substr(end)));
    begin = end;
  }
}

}  // namespace packline::test

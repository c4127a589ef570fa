#include "lib/corpus/read_as.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace packline;

TEST_CASE("read_as_of: a file's name says how it is read, unless the job does") {
  const std::pair<const char*, ReadAs> names[] = {
      {"a.jsonl", ReadAs::kJsonl},     {"a.json", ReadAs::kJson},
      {"a.txt", ReadAs::kLines},       {"a.idx", ReadAs::kMegatron},
      {"a.bin", ReadAs::kMegatron},    {"a", ReadAs::kJsonl},
      {"a.jsonl.gz", ReadAs::kJsonl},  {"a.json.zst", ReadAs::kJson},
      {"a.txt.gz", ReadAs::kLines},    {"a.gz", ReadAs::kJsonl},
      {"json.d/a", ReadAs::kJsonl},    {"a.json.bak", ReadAs::kJsonl},
      {"a.bin.zst", ReadAs::kMegatron}};
  for (const auto& [name, read_as] : names) {
    CAPTURE(name);
    CHECK(read_as_of(ReadAs::kAuto, name) == read_as);
    CHECK(read_as_of(ReadAs::kFiles, name) == ReadAs::kFiles);
  }
}

TEST_CASE("goes_with: plain text is text, Megatron pairs are tokens, JSON is any") {
  const Format formats[] = {Format::kText, Format::kChat, Format::kTokens};
  for (const Format f : formats) {
    CHECK(goes_with(ReadAs::kJsonl, f));
    CHECK(goes_with(ReadAs::kJson, f));
    CHECK(goes_with(ReadAs::kAuto, f));
    CHECK(goes_with(ReadAs::kLines, f) == (f == Format::kText));
    CHECK(goes_with(ReadAs::kFiles, f) == (f == Format::kText));
    CHECK(goes_with(ReadAs::kMegatron, f) == (f == Format::kTokens));
  }
  CHECK(why_not(ReadAs::kLines, Format::kChat) ==
        "read_as: lines gives plain text, which does not go with format: chat; set format: text, "
        "or read_as: jsonl or json if the files hold JSON");
  CHECK(megatron_base("d/a.idx") == "d/a");
  CHECK(megatron_base("d/a.bin") == "d/a");
  CHECK(megatron_base("d/a.bin.gz") == "");
}

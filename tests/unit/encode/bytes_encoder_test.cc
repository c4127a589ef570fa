#include <doctest/doctest.h>

#include "tests/unit/encode/requests.h"

using namespace packline;
using namespace packline::test;
using Ids = std::vector<std::int32_t>;

TEST_CASE("bytes: a token is a byte, bos is 256 and eos 257") {
  const auto plain = made({.kind = EncodeKind::kBytes, .add_eos = false});
  CHECK(ids_of(encoded(*plain, Format::kText, R"({"text":"a\u00e9\u0000"})")) ==
        Ids{97, 0xC3, 0xA9, 0});
  const auto both = made({.kind = EncodeKind::kBytes, .add_bos = true});
  const Encoded e = encoded(*both, Format::kText, R"({"text":"a","id":"x"})");
  CHECK(ids_of(e) == Ids{256, 97, 257});
  CHECK(e.samples.find("labels") == nullptr);
  CHECK(e.samples.ids == std::vector<std::string>{"x@s0:1"});
  CHECK(ids_of(encoded(*plain, Format::kText, R"({"text":""})")).empty());
}

TEST_CASE("bytes: a chat is rendered with roles as text, with loss on the assistant") {
  const auto encoder = made({.kind = EncodeKind::kBytes, .add_bos = true});
  const Encoded e = encoded(*encoder, Format::kChat, R"({"messages":[{"role":"user","content":"hi"},
      {"role":"assistant","content":"yo"},{"role":"user","content":"?"},
      {"role":"assistant","content":"!"}]})");
  std::string text;
  for (const std::int32_t id : ids_of(e)) {
    text += id == 256 ? "<bos>" : id == 257 ? "<eos>" : std::string(1, static_cast<char>(id));
  }
  CHECK(text == "<bos><|user|>\nhi\n<|assistant|>\nyo<eos>\n<|user|>\n?\n<|assistant|>\n!<eos>");
  const std::uint32_t first = 1 + 9 + 2 + 15;  // bos, header, content, newline and header
  const std::uint32_t second = first + 3 + 10 + 1 + 15;
  CHECK(spans_of(e) == std::vector<std::uint32_t>{first, first + 3, second, second + 2});
}

TEST_CASE("bytes: train: all leaves labels out, since every token carries loss") {
  const auto encoder = made({.kind = EncodeKind::kBytes, .train = EncodeSettings::Train::kAll});
  const Encoded e =
      encoded(*encoder, Format::kChat, R"({"messages":[{"role":"user","content":"hi"}]})");
  CHECK(e.samples.find("labels") == nullptr);
}

TEST_CASE("bytes: a chat without an assistant has labels without a span") {
  const auto encoder = made({.kind = EncodeKind::kBytes});
  CHECK(
      spans_of(encoded(*encoder, Format::kChat, R"({"messages":[{"role":"user","content":"hi"}]})"))
          .empty());
}

TEST_CASE("bytes: a bad record is lost as parse, with its cause") {
  const auto encoder = made({.kind = EncodeKind::kBytes});
  const Encoded e = encoded(*encoder, Format::kText, R"({"text":[]})");
  CHECK(e.lost);
  CHECK(e.reason == RecordLoss::kParse);
  CHECK(e.text == "\"text\" is an array, not a string");
}

TEST_CASE("bytes: plain text is taken as it stands, braces and quotes too") {
  const auto plain = made({.kind = EncodeKind::kBytes, .add_eos = false});
  const Encoded e = encoded(*plain, Format::kText, "{\"\xC3\xA9", RecordForm::kText);
  CHECK(ids_of(e) == Ids{'{', '"', 0xC3, 0xA9});
  CHECK(e.samples.ids == std::vector<std::string>{"s0:1"});
  const Encoded bad = encoded(*plain, Format::kText, "a\xFF", RecordForm::kText);
  CHECK(bad.lost);
  CHECK(bad.reason == RecordLoss::kParse);
  CHECK(bad.text == "the text is not valid UTF-8 at byte 1");
}

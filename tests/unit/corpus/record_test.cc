#include "lib/corpus/record.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "lib/base/random.h"
#include "lib/corpus/utf8.h"

using namespace packline;
using namespace std::string_view_literals;
using Loss = TokenRecord::Loss;

namespace {

// The record, or the test ends.
const Record& parsed(RecordParser& parser, std::string_view bytes, Format format,
                     const FieldNames& fields = {}) {
  const auto record = parser.parse(bytes, format, fields);
  REQUIRE_MESSAGE(record.has_value(), (record ? "" : record.error().text));
  return **record;
}

// What is wrong with it.
std::string wrong(std::string_view bytes, Format format, const FieldNames& fields = {}) {
  RecordParser parser;
  const auto record = parser.parse(bytes, format, fields);
  return record ? "nothing" : record.error().text;
}
std::string wrong_text(std::string_view bytes) { return wrong(bytes, Format::kText); }
std::string wrong_chat(std::string_view bytes) { return wrong(bytes, Format::kChat); }
std::string wrong_tokens(std::string_view bytes) { return wrong(bytes, Format::kTokens); }

using Ids = std::vector<std::int32_t>;
using Spans = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("Record: a text, with escapes resolved and other keys passed over") {
  RecordParser parser;
  const Record& r = parsed(
      parser, R"( {"meta": {"a": [1, null, true, "x"]}, "text": "a\n\u00e9\ud83d\ude00\u0000"} )",
      Format::kText);
  CHECK(r.text == std::string_view("a\n\xC3\xA9\xF0\x9F\x98\x80\0", 9));
  CHECK(r.id.empty());
}

TEST_CASE("Record: its own id is a string, or a number as it was written") {
  RecordParser parser;
  auto id = [&](std::string_view json) {
    return std::string(
        parsed(parser, fmt::format("{{\"text\":\"\",\"id\":{}}}", json), Format::kText).id);
  };
  CHECK(id("\"simple_12\"") == "simple_12");
  CHECK(id("12") == "12");
  CHECK(id("-1.50e3 \t") == "-1.50e3");
  CHECK(id("123456789012345678901234567890") == "123456789012345678901234567890");
  CHECK(id("null").empty());
  CHECK(id("[1]").empty());
  CHECK(id(fmt::format("\"{}\"", std::string(1024, 'x'))).size() == 1024);
  CHECK(wrong_text(fmt::format("{{\"text\":\"\",\"id\":\"{}\"}}", std::string(1025, 'x'))) ==
        "the record's id has 1025 bytes, and at most 1024 are taken");
}

TEST_CASE("Record: a chat's turns, no content beside tool calls and null content are empty") {
  RecordParser parser;
  const Record& r = parsed(parser,
                           R"({"messages": [{"role": "system", "content": "be"},
      {"content": "hi", "name": "x", "role": "user"}, {"role": "assistant", "content": null},
      {"role": "assistant", "tool_calls": [{"f": 1}]}], "id": 7})",
                           Format::kChat);
  REQUIRE(r.turns.size() == 4);
  CHECK(r.turns[0].role == "system");
  CHECK(r.turns[1].content == "hi");
  CHECK(r.turns[2].content.empty());
  CHECK(r.turns[3].content.empty());
  CHECK(r.id == "7");
}

TEST_CASE("Record: fields map the names of keys") {
  FieldNames fields;
  fields.messages = "conversations";
  fields.role = "from";
  fields.content = "value";
  RecordParser parser;
  const Record& r =
      parsed(parser, R"({"conversations":[{"from":"user","value":"hi"}]})", Format::kChat, fields);
  REQUIRE(r.turns.size() == 1);
  CHECK(r.turns[0].role == "user");
  CHECK(r.turns[0].content == "hi");
}

TEST_CASE("Record: tokens without a word about their loss") {
  RecordParser parser;
  const Record& r =
      parsed(parser, R"({"input_ids": [0, 5, 2147483647], "labels": null})", Format::kTokens);
  CHECK(r.tokens.input_ids == Ids{0, 5, 2147483647});
  CHECK(r.tokens.loss == Loss::kNone);
  CHECK(r.tokens.others.empty());
}

TEST_CASE("Record: labels that are -100 or the id are spans, whatever the order of the keys") {
  RecordParser parser;
  auto spans = [&](std::string_view json) {
    const Record& r = parsed(parser, json, Format::kTokens);
    CHECK(r.tokens.loss == Loss::kSpans);
    return r.tokens.spans;
  };
  CHECK(spans(R"({"input_ids":[1,2,3,4,5],"labels":[-100,2,3,-100,5]})") == Spans{1, 3, 4, 5});
  CHECK(spans(R"({"labels":[1,2],"input_ids":[1,2]})") == Spans{0, 2});
  CHECK(spans(R"({"labels":[-100,-100],"input_ids":[1,2]})") == Spans{});
  CHECK(spans(R"({"labels":[],"input_ids":[]})") == Spans{});
  CHECK(spans(R"({"input_ids":[1,2,3],"loss_mask":[0,1,1]})") == Spans{1, 3});
  CHECK(spans(R"({"loss_mask":[true,false,true],"input_ids":[1,2,3]})") == Spans{0, 1, 2, 3});
}

TEST_CASE("Record: other labels stay as they are") {
  RecordParser parser;
  const Record& r =
      parsed(parser, R"({"input_ids":[1,2,3],"labels":[2,-2147483648,-100]})", Format::kTokens);
  CHECK(r.tokens.loss == Loss::kLabels);
  CHECK(r.tokens.labels == Ids{2, -2147483648, -100});
}

TEST_CASE("Record: an attention_mask of ones is no column, and one of padding is refused") {
  RecordParser parser;
  const Record& r =
      parsed(parser, R"({"input_ids":[1,2],"attention_mask":[1,1],"a":[7,8]})", Format::kTokens);
  REQUIRE(r.tokens.others.size() == 1);
  CHECK(r.tokens.others[0].name == "a");
  const auto padded =
      parser.parse(R"({"input_ids":[1,0],"attention_mask":[1,0]})", Format::kTokens, {});
  REQUIRE_FALSE(padded.has_value());
  CHECK(padded.error().text ==
        "attention_mask is not 1 for every token: the record is padded; tokenise without padding");
}

TEST_CASE("Record: arrays of numbers as long as the ids are columns, others are not") {
  RecordParser parser;
  const Record& r = parsed(parser, R"({"z":[0.5,1,-2],"input_ids":[1,2,3],"a":[7,8,-9],"short":[1],
      "words":["a","b","c"],"mixed":[1,"b",[2]],"big":[1,2,18446744073709551615],"s":"x"})",
                           Format::kTokens);
  REQUIRE(r.tokens.others.size() == 3);
  CHECK(r.tokens.others[0].name == "a");
  CHECK(r.tokens.others[0].integers == std::vector<std::int64_t>{7, 8, -9});
  CHECK(r.tokens.others[1].name == "big");
  CHECK(r.tokens.others[1].reals == std::vector<double>{1, 2, 18446744073709551615.0});
  CHECK(r.tokens.others[2].name == "z");
  CHECK(r.tokens.others[2].real);
  CHECK(r.tokens.others[2].reals == std::vector<double>{0.5, 1, -2});
}

TEST_CASE("Record: what is wrong with ready tokens is a sentence") {
  CHECK(wrong_tokens(R"({"input_ids":[1,1.5]})") ==
        "input_ids holds 1.5 at place 1, which is not an integer");
  CHECK(wrong_tokens(R"({"input_ids":[1,"2"]})") ==
        "input_ids holds a string at place 1, which is not an integer");
  CHECK(wrong_tokens(R"({"input_ids":[[1,2]]})") ==
        "input_ids holds an array at place 0, which is not an integer");
  CHECK(wrong_tokens(R"({"input_ids":[null]})") ==
        "input_ids holds null at place 0, which is not an integer");
  CHECK(wrong_tokens(R"({"input_ids":[5,-1]})") ==
        "input_ids holds -1 at place 1; it may hold 0 to 2147483647");
  CHECK(wrong_tokens(R"({"input_ids":[2147483648]})") ==
        "input_ids holds 2147483648 at place 0; it may hold 0 to 2147483647");
  CHECK(wrong_tokens(R"({"input_ids":[99999999999999999999]})") ==
        "input_ids holds 99999999999999999999 at place 0, which does not fit 32 bits");
  CHECK(wrong_tokens(R"({"input_ids":"1 2"})") ==
        "input_ids is a string, not an array of integers");
  CHECK(wrong_tokens(R"({"input_ids":[1,2,3,4,5],"labels":[1,2,3]})") ==
        "labels has 3 entries for 5 tokens");
  CHECK(wrong_tokens(R"({"loss_mask":[1,0,1],"input_ids":[1,2]})") ==
        "loss_mask has 3 entries for 2 tokens");
  CHECK(wrong_tokens(R"({"input_ids":[1,2],"loss_mask":[1,2]})") ==
        "loss_mask holds 2 at place 1; it may hold 0, 1, false and true");
  CHECK(wrong_tokens(R"({"input_ids":[1],"loss_mask":[1],"labels":[1]})") ==
        "the record has both labels and loss_mask: keep one of them");
  CHECK(wrong_tokens(R"({"tokens":[1],"x":2})") ==
        "key \"input_ids\" is missing; the record has \"tokens\", \"x\": name the right one under "
        "`fields`");
  CHECK(wrong_tokens("{}") == "key \"input_ids\" is missing");
  std::string many = "{\"input_ids\":[1]";
  for (int i = 0; i < 65; ++i) many += fmt::format(",\"c{}\":[1]", i);
  CHECK(wrong_tokens(many + "}") ==
        "the record has 65 arrays as long as input_ids, and at most 64 are taken");
}

TEST_CASE("Record: what is wrong with a text or a chat is a sentence") {
  CHECK(wrong_text(R"({"text":5})") == "\"text\" is 5, not a string");
  CHECK(wrong_text(R"({"text":null})") == "\"text\" is null, not a string");
  CHECK(wrong_text(R"({"content":"x"})") ==
        "key \"text\" is missing; the record has \"content\": name the right one under `fields`");
  CHECK(wrong_chat(R"({"conversations":[]})") ==
        "key \"messages\" is missing; the record has \"conversations\": name the right one under "
        "`fields`");
  CHECK(wrong_chat(R"({"messages":[]})") == "\"messages\" has no turn in it");
  CHECK(wrong_chat(R"({"messages":{"role":"user"}})") ==
        "\"messages\" is an object, not an array of turns");
  CHECK(wrong_chat(R"({"messages":["hi"]})") ==
        "turn 0 of \"messages\" is a string, not an object");
  CHECK(wrong_chat(R"({"messages":[{"role":"user","content":"a"},{"content":"b"}]})") ==
        "turn 1 of \"messages\" has no \"role\"");
  CHECK(wrong_chat(R"({"messages":[{"role":"user"}]})") ==
        "turn 0 of \"messages\" has no \"content\"");
  CHECK(wrong_chat(R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})") ==
        "turn 0 of \"messages\" has a \"content\" that is an array, not a string");
  CHECK(wrong_chat(R"({"messages":[{"role":null,"content":""}]})") ==
        "turn 0 of \"messages\" has a \"role\" that is null, not a string");
}

TEST_CASE("Record: what is no JSON record is a sentence, wherever in the line it stands") {
  CHECK(wrong_text("{\"text\":\"a\xFF\"}") == "the line is not valid UTF-8 at byte 10");
  CHECK(wrong_text(std::string_view("{\"text\":\"a\0\"}", 13)) ==
        "the line has a NUL byte at byte 10, which is not JSON");
  CHECK(wrong_text("\xEF\xBB\xBF{\"text\":\"\"}").find("the line begins with a byte order mark") ==
        0);
  CHECK(wrong_text("[1,2]") == "the record is not an object in braces");
  CHECK(wrong_text("\"text\"") == "the record is not an object in braces");
  CHECK(wrong_text(R"({"text":"a"} {"text":"b"})") ==
        "the line holds something behind its record: JSONL has one record a line");
  CHECK(wrong_text(R"({"text":"a","x":NaN})") == "the line is not JSON: NaN is no value");
  CHECK(wrong_text(R"({"text":"a","x":tru})") == "the line is not JSON: tru is no value");
  CHECK(wrong_text(R"({"text":"a","x":nul})") == "the line is not JSON: nul is no value");
  CHECK(wrong_text(R"({"text":"a","text":"b"})") == "key \"text\" stands there twice");
  CHECK(wrong_tokens(R"({"input_ids":[1],"c":[1],"c":[2]})") == "key \"c\" stands there twice");
  for (const char* bad : {"",
                          " ",
                          "{",
                          "{\"text\":\"a\"",
                          "{\"text\":\"a}",
                          "{\"text\" \"a\"}",
                          "{\"text\":\"a\",}",
                          "{\"text\":\"a\" \"b\":1}",
                          "{text:\"a\"}",
                          "{\"text\":\"\\q\"}",
                          "{\"text\":\"\\ud800\"}",
                          "{\"text\":\"\\udc00\"}",
                          "{\"text\":\"a\nb\"}",
                          "{\"text\":\"a\",\"x\":[1,}",
                          "{\"text\":\"a\",\"x\":[1 2]}",
                          "{\"text\":\"a\",\"x\":{1:2}}",
                          "{\"text\":\"a\",\"x\":01}",
                          "{\"text\":\"a\",\"x\":\"\\udc00\"}",
                          "{\"text\":\"a\"}}",
                          "{\"text\":\"a\",\"x\":[}"}) {
    CAPTURE(bad);
    CHECK(wrong_text(bad).find("the line ") == 0);
  }
}

TEST_CASE("Record: nesting has a limit, within which any depth is read") {
  auto nested = [](std::size_t n) {
    return fmt::format("{{\"text\":\"\",\"x\":{}{}}}", std::string(n, '['), std::string(n, ']'));
  };
  CHECK(wrong_text(nested(200)) == "nothing");
  CHECK(wrong_text(nested(100000)) == "the record is nested deeper than 256 levels");
}

TEST_CASE("Record: one parser takes a long record and short ones in turn") {
  RecordParser parser;
  const std::string text(3000000, 'y');
  for (int i = 0; i < 3; ++i) {
    CHECK(parsed(parser, "{\"text\":\"" + text + "\"}", Format::kText).text == text);
    CHECK(parsed(parser, "{\"text\":\"short\"}", Format::kText).text == "short");
  }
}

TEST_CASE("Record: bytes changed at random give a record or a sentence, and never a crash") {
  const std::vector<std::pair<Format, std::string>> seeds = {
      {Format::kText, R"({"id": "a", "text": "b\u00e9\n", "m": {"x": [1, 2.5e3, null, true]}})"},
      {Format::kChat, R"({"messages": [{"role": "user", "content": "hi", "n": [{}]},
          {"role": "assistant", "content": null, "tool_calls": []}], "id": 12})"},
      {Format::kTokens, R"({"input_ids": [1, 2, 30], "labels": [-100, 2, 30], "s": [0.5, 1, 2]})"},
      {Format::kTokens, R"({"input_ids": [1, 2, 30], "loss_mask": [0, 1, true], "x": {"y": []}})"}};
  constexpr std::string_view kBytes = "{}[]\",:0-.eE tfn\\u\x00\xC3\xFF"sv;
  Rng rng(11);
  RecordParser parser;
  std::size_t good = 0, bad = 0;
  for (int round = 0; round < 20000; ++round) {
    auto [format, bytes] = seeds[rng.below(seeds.size())];
    for (std::uint64_t n = 1 + rng.below(3); n > 0; --n) {
      const std::size_t at = rng.below(bytes.size());
      switch (rng.below(4)) {
        case 0:
          bytes.resize(at + 1);
          break;
        case 1:
          bytes.erase(at, 1 + rng.below(4));
          if (bytes.empty()) bytes.push_back('{');
          break;
        case 2:
          bytes.insert(at, 1, kBytes[rng.below(kBytes.size())]);
          break;
        default:
          bytes[at] = kBytes[rng.below(kBytes.size())];
      }
    }
    const auto record = parser.parse(bytes, format, {});
    ++(record ? good : bad);
    if (!record) CHECK(first_bad_utf8(record.error().text) == std::string_view::npos);
  }
  CHECK(good > 500);
  CHECK(bad > 500);
}

TEST_CASE("first_bad_utf8: takes what RFC 3629 takes") {
  const std::string good =
      "a\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEF\xBF\xBF\xF0\x90\x80\x80"
      "\xF4\x8F\xBF\xBF";
  CHECK(first_bad_utf8(good) == std::string_view::npos);
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                          "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF",
                          "\xC2", "\xE1\x80", "\xF1\x80\x80", "\xC2\x41"}) {
    CHECK(first_bad_utf8(good + bad) == good.size());
  }
}

TEST_CASE("Record: plain text is all text, and must be UTF-8 without NUL") {
  RecordParser parser;
  REQUIRE(parser.parse(R"({"id":"x","text":"y"})", Format::kText, {}).has_value());
  const auto record = parser.plain_text("{\"not\": json\xC3\xA9");
  REQUIRE(record.has_value());
  CHECK((*record)->text == "{\"not\": json\xC3\xA9");
  CHECK((*record)->id.empty());
  CHECK((*parser.plain_text(""))->text.empty());
  CHECK(parser.plain_text("ab\xC3").error().text == "the text is not valid UTF-8 at byte 2");
  CHECK(parser.plain_text("a\0b"sv).error().text ==
        "the text has a NUL byte at byte 1: it is UTF-16, or no text");
}

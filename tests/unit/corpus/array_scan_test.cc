#include "lib/corpus/array_scan.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lib/base/random.h"

using namespace packline;

namespace {

struct Elements {
  std::vector<std::string> texts;
  std::vector<std::uint32_t> lines;
  std::string trouble;
};

Elements scan(const std::string& text, std::size_t step, std::uint64_t element_max = 1 << 20) {
  ArrayScanner scanner(element_max);
  for (std::size_t at = 0; at < text.size(); at += step) {
    scanner.feed(text.data() + at, text.data() + std::min(text.size(), at + step));
  }
  scanner.finish();
  Elements found;
  found.trouble = scanner.trouble();
  if (!found.trouble.empty()) return found;
  for (const IndexEntry& e : scanner.entries) {
    found.texts.push_back(text.substr(e.offset, e.length));
    found.lines.push_back(e.line);
  }
  return found;
}

// The same whatever the pieces.
Elements scan(const std::string& text) {
  const Elements whole = scan(text, text.size() + 1);
  for (const std::size_t step : {1, 2, 3, 5}) {
    const Elements pieces = scan(text, step);
    REQUIRE(pieces.texts == whole.texts);
    REQUIRE(pieces.lines == whole.lines);
    REQUIRE(pieces.trouble == whole.trouble);
  }
  return whole;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("ArrayScanner: finds the elements, with the line where each begins") {
  const Elements e = scan("[\n  {\"a\": 1},\n  {\n    \"b\": [2, {}]\n  }\n , {}]\n");
  CHECK(e.texts == Texts{"{\"a\": 1}", "{\n    \"b\": [2, {}]\n  }", "{}"});
  CHECK(e.lines == std::vector<std::uint32_t>{2, 3, 6});
  CHECK(scan("[{},{},{}]").texts == Texts{"{}", "{}", "{}"});
  CHECK(scan("[{}]").lines == std::vector<std::uint32_t>{1});
  CHECK(scan(" \r\n\t[ {} ] \r\n").texts == Texts{"{}"});
}

TEST_CASE("ArrayScanner: an array without elements, and a blank text, have no records") {
  for (const char* text : {"[]", " [ \n ] ", "", " \n"}) {
    CHECK(scan(text).texts.empty());
    CHECK(scan(text).trouble == "");
  }
}

TEST_CASE("ArrayScanner: brackets, quotes and commas within strings are text") {
  const Texts hard = {R"({"a": "}],[{"})",
                      R"({"a\"]": "\\"})",
                      R"({"a": "\\\"}", "b": "\u007d"})",
                      R"({"": ""})",
                      R"({"a": "\\\\"})",
                      "{\"a\": \"two\nlines\"}",  // no JSON, which the parser will say
                      "{\"a\": \"\xF0\x9F\x98\x80\"}"};
  std::string text = "[";
  for (const std::string& h : hard) text += (text.size() > 1 ? " ,\n" : "") + h;
  const Elements e = scan(text + "]");
  CHECK(e.texts == hard);
  CHECK(e.lines == std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 8});
}

TEST_CASE("ArrayScanner: elements that are no objects are elements all the same") {
  CHECK(scan(R"([1, "a,]", null,true ,-1.5e3, [[],[1]], "\""])").texts ==
        Texts{"1", R"("a,]")", "null", "true", "-1.5e3", "[[],[1]]", R"("\"")"});
}

TEST_CASE("ArrayScanner: a BOM is left out by whoever feeds it, and counts as bytes") {
  ArrayScanner scanner;
  scanner.skip(3);
  const std::string text = "[{}]";
  scanner.feed(text.data(), text.data() + text.size());
  scanner.finish();
  REQUIRE(scanner.entries.size() == 1);
  CHECK(scanner.entries[0].offset == 4);
}

TEST_CASE("ArrayScanner: what is no array is told, with its line") {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"\n{\"a\":1}",
       ":2: the file begins with '{', not with the '[' of an array: set the "
       "source's read_as: jsonl if it has one record a line"},
      {"[{}\n{}]", ":2: '{' stands behind an element, where a comma or the array's ']' should be"},
      {"[{},\n]", ":2: ']' stands where an element should begin"},
      {"[,{}]", ":1: ',' stands where an element should begin"},
      {"[{}]\n\n[{}]",
       ":3: '[' stands behind the end of the array, which should be all of the "
       "file"},
      {"[{}]\x01",
       ":1: byte 0x01 stands behind the end of the array, which should be all of the "
       "file"},
      {"[{}", ":1: the file ends before the array's ']': it was cut"},
      {"[{},\n", ":2: the file ends before the array's ']': it was cut"},
      {"[", ":1: the file ends before the array's ']': it was cut"},
      {"[\n{\"a\":\n",
       ":2: the file ends within the element that begins here: it was cut, or a "
       "quote or a bracket is missing"},
      {"[{\"a",
       ":1: the file ends within the element that begins here: it was cut, or a quote or "
       "a bracket is missing"},
      {"[{\"a\":[1}\n]", ":1: '}' closes what '[' opened, in the element that begins in line 1"},
      {"[{\n]", ":2: ']' closes what '{' opened, in the element that begins in line 1"},
      {"[1}", ":1: '}' stands behind an element, where a comma or the array's ']' should be"},
  };
  for (const auto& [text, told] : wrong) {
    CAPTURE(text);
    CHECK(scan(text).trouble == told);
  }
}

TEST_CASE("ArrayScanner: depth and size have limits") {
  const auto nested = [](std::size_t depth) {
    return "[" + std::string(depth, '[') + std::string(depth, ']') + "]";
  };
  CHECK(scan(nested(ArrayScanner::kDepthMax), 100000).trouble == "");
  CHECK(scan(nested(ArrayScanner::kDepthMax + 1), 100000).trouble ==
        ":1: more than 4096 brackets are open in each other");
  CHECK(scan("[{},\n\"1234\"]", 100, 6).trouble == "");
  CHECK(scan("[{},\n\"12345\"]", 100, 6).trouble ==
        ":2: the element has 7 bytes, and at most 6 are taken");
}

TEST_CASE("ArrayScanner: random elements come back as they were put in") {
  Rng rng(5);
  // A value that is JSON, more or less deep.
  const auto value = [&rng](const auto& self, int depth) -> std::string {
    switch (rng.below(depth > 4 ? 2 : 4)) {
      case 0:
        return std::to_string(rng.below(1000));
      case 1: {
        std::string s = "\"";
        for (auto n = rng.below(8); n > 0; --n) {
          s += std::vector<std::string>{"a", "\\\"", "\\\\", "{", "}", "[", "]", ","}[rng.below(8)];
        }
        return s + "\"";
      }
      case 2: {
        std::string s = "[";
        for (auto n = rng.below(4); n > 0; --n) s += self(self, depth + 1) + (n > 1 ? ",\n" : "");
        return s + "]";
      }
      default: {
        std::string s = "{";
        for (auto n = rng.below(4); n > 0; --n) {
          s += "\"k\": " + self(self, depth + 1) + (n > 1 ? ", " : "");
        }
        return s + "}";
      }
    }
  };
  for (int round = 0; round < 200; ++round) {
    Texts put;
    std::string text = "[";
    for (auto n = rng.below(6); n > 0; --n) {
      put.push_back(value(value, 0));
      text += (put.size() > 1 ? "," : "") + std::string(rng.below(3), '\n') + put.back();
    }
    REQUIRE(scan(text + " ]").texts == put);
  }
}

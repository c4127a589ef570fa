#include "lib/config/yaml_tree.h"

#include <fmt/format.h>

#include "tests/unit/config/job_folder.h"

namespace packline::test {
namespace {

std::string only_mistake(const std::string& text, int line) {
  const YamlText yaml = parse_yaml(text);
  REQUIRE(yaml.mistakes.size() == 1);
  CHECK(yaml.mistakes[0].line == line);
  return yaml.mistakes[0].text;
}

std::string repeated(const std::string& part, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += part;
  return out;
}

}  // namespace

TEST_CASE("Yaml: a tree knows the lines of its keys and values") {
  const YamlText yaml = parse_yaml("a: 1\nb:\n  c: [x, 'y']\n  d:\n");
  REQUIRE(yaml.whole);
  REQUIRE(yaml.root.inside.size() == 2);
  const YamlNode& b = yaml.root.inside[1];
  CHECK(b.name == "b");
  CHECK(b.name_line == 2);
  CHECK(b.inside[0].name_line == 3);
  CHECK(b.inside[0].inside[0].text == "x");
  CHECK_FALSE(b.inside[0].inside[0].quoted);
  CHECK(b.inside[0].inside[1].quoted);
  CHECK(b.inside[1].kind == YamlNode::Kind::kNull);
}

TEST_CASE("Yaml: CRLF and a byte order mark change neither values nor lines") {
  const YamlText yaml = parse_yaml(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: x\r\n");
  REQUIRE(yaml.whole);
  REQUIRE(yaml.root.inside.size() == 2);
  CHECK(yaml.root.inside[0].name == "a");
  CHECK(yaml.root.inside[1].text == "x");
  CHECK(yaml.root.inside[1].name_line == 2);
}

TEST_CASE("Yaml: a name given twice is a mistake and keeps its first value") {
  const YamlText yaml = parse_yaml("a: 1\nb: 2\na: 3\n");
  REQUIRE(yaml.whole);
  REQUIRE(yaml.mistakes.size() == 1);
  CHECK(yaml.mistakes[0].line == 3);
  CHECK(yaml.mistakes[0].text == "a is given twice, first in line 1; keep one of them");
  CHECK(yaml.root.inside[0].text == "1");
}

TEST_CASE("Yaml: an alias stands for a copy of its value") {
  const YamlText yaml = parse_yaml("a: &x {k: 1}\nb: *x\n");
  REQUIRE(yaml.whole);
  CHECK(yaml.mistakes.empty());
  CHECK(yaml.root.inside[1].inside[0].text == "1");
}

TEST_CASE("Yaml: a billion laughs are refused before they are unfolded") {
  std::string text = "a0: &a0 [l, l, l, l, l, l, l, l, l, l]\n";
  for (int i = 1; i < 10; ++i) {
    text += fmt::format("a{0}: &a{0} [", i);
    for (int k = 0; k < 9; ++k) text += fmt::format("{}*a{}", k > 0 ? ", " : "", i - 1);
    text += "]\n";
  }
  const YamlText yaml = parse_yaml(text);
  CHECK_FALSE(yaml.whole);
  REQUIRE(yaml.mistakes.size() == 1);
  CHECK(contains(yaml.mistakes[0].text, "more than 100000 values"));
}

TEST_CASE("Yaml: aliases are counted, and one inside itself is refused") {
  std::string text = "a: &a 1\n";
  for (int i = 0; i < 101; ++i) text += fmt::format("b{}: *a\n", i);
  CHECK(contains(only_mistake(text, 102), "more than 100 aliases"));
  CHECK(contains(only_mistake("a: &a\n  b: *a\n", 2), "inside the value that it names"));
}

TEST_CASE("Yaml: deep nesting is refused, up to the limit it is read") {
  CHECK(parse_yaml(repeated("[", 32) + repeated("]", 32)).whole);
  CHECK(contains(only_mistake(repeated("[", 33) + repeated("]", 33), 1), "nested more than 32"));
  CHECK(contains(only_mistake(repeated("[", 200'000), 1), "nested more than 32"));
  CHECK(contains(only_mistake(repeated("{a: ", 100'000), 1), "nested more than 32"));
  CHECK_FALSE(parse_yaml(repeated("- ", 100'000)).whole);
  CHECK_FALSE(parse_yaml(repeated("? ", 100'000)).whole);
}

TEST_CASE("Yaml: a second document or stray text is refused with its line") {
  CHECK(contains(only_mistake("a: 1\n---\nb: 2\n", 2), "one document"));
  CHECK(parse_yaml("---\na: 1\n...\n").whole);
  CHECK_FALSE(parse_yaml("a: 1\n]\n").mistakes.empty());
}

TEST_CASE("Yaml: syntax errors have a line and the usual cause") {
  CHECK(contains(only_mistake("a:\n\tb: 1\n", 2), "tab"));
  CHECK(contains(only_mistake("a: 1\npath: *.jsonl\n", 2), "in quotes: \"*.jsonl\""));
  CHECK(contains(only_mistake("a: 1\nb: x: y\n", 2), "this is no YAML"));
  CHECK(contains(only_mistake("a: [1, 2\n", 2), "this is no YAML"));
}

TEST_CASE("Yaml: what is no text is refused before it is read") {
  CHECK(contains(only_mistake(std::string("a: 1\nb: \0 2", 11), 2), "byte 0x00"));
  CHECK(contains(only_mistake("a: \x04\n", 1), "control character"));
  CHECK(contains(only_mistake("a: 1\nb: \xC3\x28\n", 2), "UTF-8"));
  CHECK(contains(only_mistake("\xFF\xFE"
                              "a",
                              1),
                 "UTF-8"));
  CHECK(contains(only_mistake(std::string(kYamlBytesMax + 1, 'a'), 0), "at most 1048576"));
}

TEST_CASE("Yaml: tags and keys that are no names are mistakes, the rest is read") {
  CHECK(contains(only_mistake("a: !!int 3\n", 1), "tag"));
  CHECK(contains(only_mistake("[a, b]: 1\n", 1), "a key must be a name"));
  CHECK(contains(only_mistake("~: 1\n", 1), "a key must be a name"));
}

TEST_CASE("Yaml: a value in a sentence is short and has no control characters") {
  CHECK(shown("a\nb\x1b") == "a\\x0ab\\x1b");
  CHECK(shown(std::string(100, 'x')) == std::string(48, 'x') + "...");
  CHECK(shown("gr\xC3\xBC\xC3\x9F") == "gr\xC3\xBC\xC3\x9F");
  CHECK(shown("\xFF") == "\\xff");
}

TEST_CASE("Yaml: a scalar that is written is read back as the same text") {
  for (const std::string text :
       {"plain", "",     "8",        "0x1F", "true",    "no",   "null",         "~",
        "a: b",  "#x",   "*.jsonl",  "it's", "a\"b\\c", "-",    "-x",           " lead",
        "x ",    ".inf", "\xC3\xBC", "[a]",  "1e3",     "a, b", "data/*.jsonl", ".packline"}) {
    CAPTURE(text);
    const YamlText yaml =
        parse_yaml("k: " + yaml_scalar(text) + "\nl: [" + yaml_scalar(text) + "]\n");
    REQUIRE(yaml.whole);
    CHECK(yaml.root.inside[0].kind == YamlNode::Kind::kScalar);
    CHECK(yaml.root.inside[0].text == text);
    CHECK(yaml.root.inside[1].inside[0].text == text);
  }
}

}  // namespace packline::test

#include "lib/config/values.h"

#include "tests/unit/config/job_folder.h"

namespace packline::test {
namespace {

tl::expected<KeyValue, std::string> read(const std::string& path, const std::string& yaml) {
  const YamlText text = parse_yaml(yaml);
  REQUIRE(text.whole);
  const Key* key = find_key(path);
  REQUIRE(key != nullptr);
  return read_value(*key, text.root);
}

std::string refused(const std::string& path, const std::string& yaml) {
  const auto value = read(path, yaml);
  CAPTURE(yaml);
  REQUIRE_FALSE(value.has_value());
  return value.error();
}

}  // namespace

TEST_CASE("Values: an integer is decimal and in its range, both ends allowed") {
  CHECK(read("lanes", "1")->integer == 1);
  CHECK(read("lanes", "4096")->integer == 4096);
  CHECK(refused("lanes", "0") == "must be an integer from 1 to 4096 (lanes), is 0");
  CHECK(refused("lanes", "4097") == "must be an integer from 1 to 4096 (lanes), is 4097");
  CHECK(refused("lanes", "-3") == "must be an integer from 1 to 4096 (lanes), is -3");
  CHECK(read("seed", "0")->integer == 0);
  CHECK(read("seed", "9223372036854775807")->integer == 9223372036854775807ULL);
  CHECK(contains(refused("seed", "9223372036854775808"), "is 9223372036854775808"));
  CHECK(contains(refused("seed", "99999999999999999999999999"), "must be an integer"));
}

TEST_CASE("Values: an integer in another notation is refused with what to write instead") {
  const std::pair<const char*, const char*> cases[] = {
      {"0x1F", "; write 31"},    {"0o17", "; write 15"},
      {"017", "; write 17"},     {"0b101", "; write 5"},
      {"1_000", "; write 1000"}, {"\"1,000\"", "; write 1000"},
      {"1e3", "; write 1000"},   {"1000.0", "; write 1000"},
      {"+8", "; write 8"},       {"\"8\"", "; write it without quotes"}};
  for (const auto& [yaml, hint] : cases) {
    CAPTURE(yaml);
    CHECK(refused("lanes", yaml).ends_with(hint));
  }
  for (const char* yaml :
       {"8k", "yes", "true", "1.5", ".inf", ".nan", "4 8", "''", "0x", "-", "1:30"}) {
    CAPTURE(yaml);
    CHECK(contains(refused("lanes", yaml), "must be an integer from 1 to 4096 (lanes), is "));
  }
  CHECK(contains(refused("lanes", "[1]"), "is a list"));
  CHECK(contains(refused("lanes", "{a: 1}"), "is a map"));
  CHECK(contains(refused("lanes", "~"), "is empty; give a value or take the line away"));
}

TEST_CASE("Values: a number may have a fraction, but is finite") {
  CHECK(read("sources[].repeat", "2.5")->number == 2.5);
  CHECK(read("sources[].repeat", "3")->number == 3);
  CHECK(read("sources[].repeat", "1e-3")->number == 0.001);
  CHECK(refused("sources[].repeat", ".5").ends_with("; write 0.5"));
  CHECK(refused("sources[].repeat", "1_000").ends_with("; write 1000"));
  for (const char* yaml :
       {"0", "-1", ".inf", ".nan", "inf", "nan", "1e999", "x", "2.", "1000001"}) {
    CAPTURE(yaml);
    CHECK(contains(refused("sources[].repeat", yaml), "must be a number from 0.000001 to 1000000"));
  }
}

TEST_CASE("Values: a boolean is true or false, no other word") {
  CHECK(read("encode.add_bos", "true")->truth);
  CHECK_FALSE(read("encode.add_bos", "false")->truth);
  for (const char* yaml : {"yes", "on", "Yes", "TRUE", "y", "1", "True", "ON"}) {
    CAPTURE(yaml);
    CHECK(refused("encode.add_bos", yaml).ends_with("; write true"));
  }
  for (const char* yaml : {"no", "off", "False", "n", "0", "OFF"}) {
    CAPTURE(yaml);
    CHECK(refused("encode.add_bos", yaml).ends_with("; write false"));
  }
  CHECK(refused("encode.add_bos", "'true'").ends_with("; write true without quotes"));
  CHECK(refused("encode.add_bos", "maybe") == "must be true or false, is maybe");
}

TEST_CASE("Values: a choice names what is allowed and the nearest") {
  CHECK(read("pack.over_long", "truncate_right")->integer == 2);
  CHECK(refused("pack.over_long", "truncate-rigth") ==
        "must be one of drop, error, truncate_right, truncate_left, split, is truncate-rigth; did "
        "you mean truncate_right?");
  CHECK(refused("pack.over_long", "cut") ==
        "must be one of drop, error, truncate_right, truncate_left, split, is cut");
  CHECK(refused("line.security", "curve") == "must be none, is curve");
}

TEST_CASE("Values: epochs is an integer or `continuous`") {
  CHECK(read("epochs", "continuous")->integer == kContinuous);
  CHECK(read("epochs", "3")->integer == 3);
  CHECK(contains(refused("epochs", "0"), "or continuous, is 0"));
  CHECK(contains(refused("epochs", "1.5"), "is 1.5"));
}

TEST_CASE("Values: texts are one line of bounded length, lists of texts are not empty") {
  CHECK(read("name", "17")->text == "17");
  CHECK(contains(refused("name", "''"), "is empty"));
  CHECK(contains(refused("name", std::string(65, 'x')), "is 65 bytes long"));
  CHECK(contains(refused("name", "\"a\\nb\""), "one line"));
  CHECK(read("line.sinks", "[a, b]")->texts == std::vector<std::string>{"a", "b"});
  CHECK(contains(refused("line.sinks", "[]"), "empty list"));
  CHECK(contains(refused("line.sinks", "[a, [b]]"), "item 1 must be a text, is a list"));
  CHECK(contains(refused("line.sinks", "tcp"), "write [tcp]"));
}

}  // namespace packline::test

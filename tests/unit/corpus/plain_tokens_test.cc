#include "lib/corpus/plain_tokens.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "lib/base/random.h"

using namespace packline;
using namespace std::string_view_literals;

namespace {

using Ids = std::vector<std::int32_t>;

// What is read points into the padded copy, which lives until the next call.
bool read(PlainTokens& plain, const std::string& line, const FieldNames& fields = {}) {
  static std::string padded;
  padded = line + std::string(kPlainPadding, ' ');
  return plain.read(std::string_view(padded).substr(0, line.size()), fields);
}
bool plain(const std::string& line) {
  PlainTokens p;
  return read(p, line);
}

// All that a parsed record says, to compare.
std::string all_of(const Result<const Record*>& parsed) {
  if (!parsed) return parsed.error().text;
  const Record& r = **parsed;
  std::string out = fmt::format("{}|{}", r.id, static_cast<int>(r.tokens.loss));
  for (const auto i : r.tokens.input_ids) out += fmt::format(" i{}", i);
  for (const auto i : r.tokens.spans) out += fmt::format(" s{}", i);
  if (r.tokens.loss == TokenRecord::Loss::kLabels) {
    for (const auto i : r.tokens.labels) out += fmt::format(" l{}", i);
  }
  for (const TokenColumn& c : r.tokens.others) {
    out += fmt::format(" {}{}", c.name, c.real ? "r" : "n");
    for (const auto i : c.integers) out += fmt::format(" {}", i);
  }
  return out;
}

std::string random_array(Rng& rng, std::uint64_t n, bool labels) {
  std::string out = "[";
  const std::string_view comma = rng.below(2) == 0 ? "," : ", ";
  for (std::uint64_t i = 0; i < n; ++i) {
    if (i > 0) out += comma;
    std::uint64_t below = 10;
    for (std::uint64_t digits = rng.below(8); digits > 0; --digits) below *= 10;
    out += labels && rng.below(2) == 0 ? "-100" : std::to_string(rng.below(below));
  }
  return out + "]";
}

std::string random_record(Rng& rng) {
  const std::uint64_t n = rng.below(20) == 0 ? 500 + rng.below(50) : rng.below(6);
  std::vector<std::string> fields = {"\"input_ids\": " + random_array(rng, n, false)};
  if (rng.below(2) == 0) fields.push_back("\"labels\":" + random_array(rng, n, true));
  if (rng.below(3) == 0) fields.push_back(fmt::format("\"id\": \"r{}\"", rng.below(99)));
  if (rng.below(3) == 0) fields.push_back("\"kind\" :" + random_array(rng, n, true));
  if (rng.below(5) == 0) fields.push_back("\"text\":\"a b\"");
  if (rng.below(9) == 0) fields.push_back("\"loss_mask\":[0, 1,1]");
  shuffle(fields, rng);
  std::string out = rng.below(4) == 0 ? " {" : "{";
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i > 0 ? ", " : "") + fields[i];
  return out + (rng.below(4) == 0 ? " } " : "}");
}

}  // namespace

TEST_CASE("PlainTokens: reads ids, labels, a mask, an id and other arrays") {
  PlainTokens p;
  REQUIRE(read(p, R"({"id": "x", "input_ids": [1, 22,333], "labels":[-100, 22, -7], )"
                  R"("a": [4,5,6], "loss_mask": [0,1,1] , "text": "t"})"));
  CHECK(p.id == "x");
  CHECK(p.input_ids == Ids{1, 22, 333});
  CHECK(p.labels == Ids{-100, 22, -7});
  CHECK(p.mask == Ids{0, 1, 1});
  REQUIRE(p.others.size() == 1);
  CHECK(p.others[0].name == "a");
}

TEST_CASE("PlainTokens: leaves to the general parser what is not plain") {
  CHECK(plain(R"({"input_ids":[1234567]})"));
  for (const char* other : {R"({"input_ids":[12345678]})",
                            R"({"input_ids":[-1]})",
                            R"({"input_ids":[01]})",
                            R"({"input_ids":[-0]})",
                            R"({"input_ids":[1.0]})",
                            R"({"input_ids":[1e3]})",
                            R"({"input_ids":[1,]})",
                            R"({"input_ids":[,1]})",
                            R"({"input_ids":[1 2]})",
                            R"({"input_ids":[1])",
                            R"({"input_ids":[1)",
                            R"({"input_ids":[1,)",
                            R"({"input_ids":[)",
                            R"({"input_ids":[1]}})",
                            R"({"input_ids":[1],})",
                            R"({"labels":[1]})",
                            R"({})",
                            "",
                            "{",
                            R"({"input_ids":[1],"input_ids":[1]})",
                            R"({"input_ids":[1],"x":1})",
                            R"({"input_ids":[1],"x":{}})",
                            R"({"input_ids":[1],"x":"\n"})",
                            "{\"input_ids\":[1],\"x\":\"\xC3\xA9\"}",
                            R"({"input_ids":[1],"loss_mask":[2]})",
                            R"({"input_ids":[1],"x":"})",
                            R"({"input_ids":[1],"id":7})"}) {
    CAPTURE(other);
    CHECK_FALSE(plain(other));
  }
}

TEST_CASE("PlainTokens: whatever it accepts the general parser accepts, with the same result") {
  constexpr std::string_view kBytes = "{}[]\",:0-.e 9\\1\x00\xC3"sv;
  Rng rng(5);
  RecordParser one, two;
  PlainTokens p;
  std::size_t accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = random_record(rng);
    for (std::uint64_t n = rng.below(3); n > 0; --n) {
      const std::size_t at = rng.below(bytes.size());
      if (rng.below(2) == 0) {
        bytes[at] = kBytes[rng.below(kBytes.size())];
      } else {
        bytes.insert(at, 1, kBytes[rng.below(kBytes.size())]);
      }
    }
    if (!read(p, bytes)) continue;
    ++accepted;
    // An object as a value makes the record one for the general parser, and changes nothing.
    std::string general = bytes;
    general.insert(general.find('{') + 1, "\"_\":{},");
    CAPTURE(bytes);
    CHECK(all_of(one.parse(bytes, Format::kTokens, {})) ==
          all_of(two.parse(general, Format::kTokens, {})));
  }
  CHECK(accepted > 5000);
}

TEST_CASE("PlainTokens: a source of other records is read all the same, plain ones between them") {
  RecordParser parser;
  for (int i = 0; i < 300; ++i) {
    const bool odd = i % 100 > 5;
    const auto r =
        parser.parse(odd ? R"({"input_ids":[1,2],"meta":{"x":1}})" : R"({"input_ids":[1,2,3]})",
                     Format::kTokens, {});
    REQUIRE(r.has_value());
    CHECK((*r)->tokens.input_ids.size() == (odd ? 2 : 3));
  }
}

#include <doctest/doctest.h>

#include "tests/unit/encode/requests.h"

using namespace packline;
using namespace packline::test;

namespace {

Encoded of(std::string_view bytes) {
  const auto encoder = made({.kind = EncodeKind::kTokens});
  return encoded(*encoder, Format::kTokens, bytes);
}

}  // namespace

TEST_CASE("tokens: takes ids as they are, without bos and eos, and no labels where none are") {
  const Encoded e = of(R"({"input_ids":[7,8,9]})");
  CHECK(ids_of(e) == std::vector<std::int32_t>{7, 8, 9});
  CHECK(e.samples.columns.size() == 1);
  CHECK(e.samples.lengths == std::vector<std::uint32_t>{3});
}

TEST_CASE("tokens: labels that are -100 or the id become spans, others values, a mask spans") {
  CHECK(spans_of(of(R"({"input_ids":[7,8,9],"labels":[-100,8,9]})")) ==
        std::vector<std::uint32_t>{1, 3});
  CHECK(spans_of(of(R"({"input_ids":[7,8,9],"loss_mask":[1,0,1]})")) ==
        std::vector<std::uint32_t>{0, 1, 2, 3});
  const Encoded e = of(R"({"input_ids":[7,8,9],"labels":[8,9,-100]})");
  CHECK(e.samples.find("labels")->kind == ColumnKind::kPerToken);
  CHECK(values<std::int32_t>(e.samples, "labels") == std::vector<std::int32_t>{8, 9, -100});
}

TEST_CASE("tokens: all labels at -100 are labels without a span, not no labels") {
  const Encoded e = of(R"({"input_ids":[7,8],"labels":[-100,-100]})");
  CHECK(spans_of(e).empty());
  CHECK(e.samples.find("labels")->rows == std::vector<std::uint32_t>{0});
  CHECK(labels_of(e.samples) == std::vector<std::int32_t>{kIgnore, kIgnore});
}

TEST_CASE("tokens: further arrays of numbers are columns, in the order of all names") {
  const Encoded e =
      of(R"({"z":[1,2],"input_ids":[7,8],"a":[0.5,1],"labels":[7,8],"m":[3,4],"other":[1]})");
  std::vector<std::string> names;
  for (const Column& c : e.samples.columns) names.push_back(c.name);
  CHECK(names == std::vector<std::string>{"a", "input_ids", "labels", "m", "z"});
  CHECK(values<double>(e.samples, "a") == std::vector<double>{0.5, 1});
  CHECK(values<std::int64_t>(e.samples, "z") == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("tokens: an empty record is a sample of no tokens") {
  const Encoded e = of(R"({"input_ids":[],"labels":[],"x":[]})");
  CHECK(ids_of(e).empty());
  CHECK(e.samples.lengths == std::vector<std::uint32_t>{0});
}

TEST_CASE("tokens: a sample's id is the record's own, @ and where it stands") {
  CHECK(of(R"({"input_ids":[1]})").samples.ids == std::vector<std::string>{"s0:1"});
  CHECK(of(R"({"id":"","input_ids":[1]})").samples.ids == std::vector<std::string>{"s0:1"});
  CHECK(of(R"({"id":"q@1","input_ids":[1]})").samples.ids == std::vector<std::string>{"q@1@s0:1"});
  CHECK(of(R"({"id":12.0,"input_ids":[1]})").samples.ids == std::vector<std::string>{"12.0@s0:1"});
}

TEST_CASE("tokens: a bad record is lost as parse, with its cause") {
  const Encoded e = of(R"({"input_ids":[1,1.5]})");
  CHECK(e.lost);
  CHECK(e.reason == RecordLoss::kParse);
  CHECK(e.text == "input_ids holds 1.5 at place 1, which is not an integer");
  CHECK(e.samples.size() == 0);
}

TEST_CASE("tokens: binary ids of every width give what the same ids give as JSON") {
  const auto encoder = made({.kind = EncodeKind::kTokens});
  const Encoded json = of(R"({"input_ids":[7,0,100]})");
  const auto check = [&](RecordForm form, auto id) {
    const std::vector<decltype(id)> ids = {7, 0, 100};
    const std::string bytes(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(id));
    const Encoded e = encoded(*encoder, Format::kTokens, bytes, form);
    CHECK(ids_of(e) == ids_of(json));
    CHECK(e.samples.ids == json.samples.ids);
    CHECK(e.samples.lengths == json.samples.lengths);
    CHECK(e.samples.columns.size() == 1);
  };
  check(RecordForm::kU8, std::uint8_t{});
  check(RecordForm::kI8, std::int8_t{});
  check(RecordForm::kI16, std::int16_t{});
  check(RecordForm::kU16, std::uint16_t{});
  check(RecordForm::kI32, std::int32_t{});
  check(RecordForm::kI64, std::int64_t{});
  CHECK(ids_of(encoded(*encoder, Format::kTokens, "", RecordForm::kU16)).empty());
}

TEST_CASE("tokens: binary ids that are none lose the record") {
  const auto encoder = made({.kind = EncodeKind::kTokens});
  const std::int32_t ids[] = {3, -1};
  const std::string bytes(reinterpret_cast<const char*>(ids), sizeof ids);
  const Encoded e = encoded(*encoder, Format::kTokens, bytes, RecordForm::kI32);
  CHECK(e.lost);
  CHECK(e.reason == RecordLoss::kParse);
  CHECK(e.text == "the record holds -1 at place 1; a token id is 0 to 2147483647");
}

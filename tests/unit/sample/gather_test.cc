#include <doctest/doctest.h>

#include "lib/sample/samples.h"
#include "tests/unit/sample/groups.h"

namespace packline::test {
namespace {

Samples part(std::vector<std::string> ids, Rows lengths, std::vector<Column> columns) {
  return {std::move(ids), std::move(lengths), std::move(columns)};
}

std::string refusal(const std::vector<Samples>& parts) {
  const auto joined = concatenate(parts);
  if (joined) return "";
  CHECK(joined.error().code == ExitCode::kDataRefused);
  return joined.error().text;
}

bool contains(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

}  // namespace

TEST_CASE("gather: the chosen samples, in the order chosen") {
  const Samples s = gather(three(), {2, 0});
  REQUIRE(check_samples(s));
  CHECK(s.ids == std::vector<std::string>{"id@s0:2", "s0:0"});
  CHECK(s.lengths == Rows{1, 2});
  CHECK(values<std::int16_t>(s.columns[0]) == std::vector<std::int16_t>{5, 6, 1, 2, 3, 4});
  CHECK(s.columns[0].rows == Rows{1, 2});
  CHECK(values<std::int32_t>(s.columns[1]) == Int32s{30, 10, 11});
  CHECK(values<std::uint32_t>(s.columns[2]) == Rows{1, 2});
  CHECK(s.columns[2].rows == Rows{0, 1});
  CHECK(values<char>(s.columns[3]) == std::vector<char>{'a'});
  CHECK(s.columns[3].rows == Rows{0, 1});
}

TEST_CASE("gather: columns stay when nothing is chosen, or nothing that has them") {
  const Samples none = gather(three(), {});
  CHECK(none.size() == 0);
  CHECK(none.columns.size() == 4);
  CHECK(check_samples(none));
  const Samples plain = gather(three(), {1});
  CHECK(plain.find("image")->data.empty());
  CHECK(plain.find("image")->rows == Rows{0});
}

TEST_CASE("gather: everything is the group itself, and twice is allowed") {
  CHECK(same(gather(three(), {0, 1, 2}), three()));
  CHECK(gather(three(), {1, 1}).tokens() == 6);
}

TEST_CASE("gather: reads columns whose bytes stand at odd addresses") {
  Samples s = three();
  for (Column& c : s.columns) {
    std::vector<std::uint8_t> shifted{0};
    for (const auto byte : values<std::uint8_t>(c)) shifted.push_back(byte);
    c.data = Buffer::of(shifted).part(1, c.data.size());
  }
  CHECK(same(gather(s, {0, 2, 1}), gather(three(), {0, 2, 1})));
  CHECK(labels_of(s) == labels_of(three()));
}

TEST_CASE("concatenate: the parts of a group are the group") {
  const Samples s = three();
  CHECK(same(*concatenate({gather(s, {0}), gather(s, {1}), gather(s, {2})}), s));
  CHECK(same(*concatenate({gather(s, {}), gather(s, {0, 1}), gather(s, {}), gather(s, {2})}), s));
  CHECK(concatenate({})->size() == 0);
  CHECK(check_samples(*concatenate({gather(s, {})})));
}

TEST_CASE("concatenate: a part without labels trains every token") {
  const Samples plain = part({"a"}, {2}, {per_token("input_ids", {1, 2})});
  const Samples some =
      part({"b"}, {3}, {per_token("input_ids", {3, 4, 5}), spans("labels", {1, 3}, {1})});
  const Samples full =
      part({"c"}, {2}, {per_token("input_ids", {6, 7}), per_token("labels", {-100, 9})});

  const auto as_spans = concatenate({plain, some});
  REQUIRE(as_spans);
  REQUIRE(check_samples(*as_spans));
  CHECK(as_spans->find("labels")->kind == ColumnKind::kSpans);
  CHECK(values_of_spans(*as_spans, *as_spans->find("labels")) == Int32s{1, 2, -100, 4, 5});

  const auto as_values = concatenate({plain, some, full});
  REQUIRE(as_values);
  REQUIRE(check_samples(*as_values));
  CHECK(as_values->find("labels")->kind == ColumnKind::kPerToken);
  CHECK(values<std::int32_t>(*as_values->find("labels")) == Int32s{1, 2, -100, 4, 5, -100, 9});

  CHECK(concatenate({plain, plain})->find("labels") == nullptr);
}

TEST_CASE("concatenate: ragged and opaque columns are completed by no rows") {
  const Samples plain = part({"a", "b"}, {1, 1}, {per_token("input_ids", {1, 2})});
  const auto joined = concatenate({plain, gather(three(), {0}), plain});
  REQUIRE(joined);
  REQUIRE(check_samples(*joined));
  CHECK(joined->find("image")->rows == Rows{0, 0, 2, 0, 0});
  CHECK(joined->find("note")->rows == Rows{0, 0, 1, 0, 0});
  CHECK(values<char>(*joined->find("note")) == std::vector<char>{'a'});
}

TEST_CASE(
    "concatenate: what JSON wrote as 1 in one sample and as 1.0 in another are reals in all") {
  const auto scaled = [](std::string id, DType dtype, Buffer data) {
    return part({std::move(id)}, {2},
                {per_token("input_ids", {1, 2}),
                 {"loss_scale", dtype, ColumnKind::kPerToken, {}, std::move(data), {}}});
  };
  const auto whole = scaled("a", DType::kI64, Buffer::of(std::vector<std::int64_t>{1, -2}));
  const auto real = scaled("b", DType::kF64, Buffer::of(std::vector<double>{0.5, 1}));
  const auto joined = concatenate({whole, real, whole});
  REQUIRE(joined);
  REQUIRE(check_samples(*joined));
  CHECK(joined->find("loss_scale")->dtype == DType::kF64);
  CHECK(values<double>(*joined->find("loss_scale")) == std::vector<double>{1, -2, 0.5, 1, 1, -2});
  CHECK(concatenate({whole, whole})->find("loss_scale")->dtype == DType::kI64);
}

TEST_CASE("concatenate: columns that do not agree are refused by sample and name") {
  const Samples plain = part({"a"}, {1}, {per_token("input_ids", {1})});
  const Samples scaled =
      part({"b"}, {1}, {per_token("input_ids", {1}), per_token("loss_scale", {1})});
  CHECK(contains(refusal({plain, scaled}),
                 "sample \"a\" has no column \"loss_scale\", but sample \"b\" has"));
  CHECK(contains(refusal({scaled, plain}), "sample \"a\" has no column \"loss_scale\""));
  Samples other = scaled;
  other.ids = {"c"};
  other.columns[1].dtype = DType::kF32;
  CHECK(contains(refusal({scaled, other}),
                 "sample \"c\" has column \"loss_scale\" as per_token f32 [], but sample \"b\" has "
                 "it as per_token i32 []"));
  Samples shaped = gather(three(), {0});
  shaped.columns[0].item_shape = {1, 2};
  CHECK(contains(refusal({three(), shaped}), "ragged i16 [1, 2]"));
  Samples span_scale =
      part({"d"}, {1}, {per_token("input_ids", {1}), spans("loss_scale", {0, 1}, {1})});
  CHECK(contains(refusal({scaled, span_scale}), "as spans i32 []"));
}

}  // namespace packline::test

#include "lib/sample/samples.h"

#include <doctest/doctest.h>

#include <functional>

#include "tests/unit/sample/groups.h"

namespace packline::test {
namespace {

// The sentence with which three(), changed by `change`, is refused.
std::string refusal(const std::function<void(Samples&)>& change) {
  Samples s = three();
  change(s);
  const Status status = check_samples(s);
  if (status) return "";
  CHECK(status.error().code == ExitCode::kDataRefused);
  return status.error().text;
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("DType: names and sizes, there and back") {
  const std::pair<const char*, std::size_t> known[] = {
      {"i8", 1},  {"u8", 1},   {"i16", 2}, {"i32", 4}, {"i64", 8},
      {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}, {"bool", 1}};
  for (const auto& [name, size] : known) {
    const auto t = dtype_from(name);
    REQUIRE(t);
    CHECK(name_of(*t) == name);
    CHECK(size_of(*t) == size);
  }
  for (const char* name : {"", "I32", "int32", "i32 ", "u16"}) CHECK(!dtype_from(name));
}

TEST_CASE("ColumnKind: names, there and back") {
  for (const char* name : {"per_token", "ragged", "opaque", "spans"}) {
    const auto kind = kind_from(name);
    REQUIRE(kind);
    CHECK(name_of(*kind) == name);
  }
  CHECK(!kind_from("per token"));
}

TEST_CASE("Column: the bytes of an item") {
  CHECK(per_token("a", {}).item_bytes() == 4);
  CHECK(ragged("a", {}, {}).item_bytes() == 4);
  CHECK(opaque("a", "", {}).item_bytes() == 1);
  CHECK(spans("a", {}, {}).item_bytes() == 8);
  Column c = ragged("a", {}, {});
  c.item_shape = {3, 5, 7};
  CHECK(c.item_bytes() == 210);
  c.item_shape = {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF};
  CHECK(c.item_bytes() == SIZE_MAX);
  c.item_shape = {0xFFFFFFFF, 0xFFFFFFFF, 0};
  CHECK(c.item_bytes() == 0);
}

TEST_CASE("check_samples: a group as it should be") {
  CHECK(check_samples(three()));
  CHECK(check_samples(Samples{}));
  CHECK(three().tokens() == 6);
  CHECK(three().find("note") != nullptr);
  CHECK(three().find("notes") == nullptr);
}

TEST_CASE("check_samples: names what is wrong, and where") {
  CHECK(says(refusal([](Samples& s) { s.ids.pop_back(); }), "2 ids and 3 lengths"));
  CHECK(says(refusal([](Samples& s) { s.columns.erase(s.columns.begin() + 1); }),
             "sample 0 (\"s0:0\"): column \"input_ids\" is missing"));
  CHECK(says(refusal([](Samples& s) { std::swap(s.columns[0], s.columns[1]); }),
             "column \"image\" stands behind \"input_ids\""));
  CHECK(says(refusal([](Samples& s) { s.columns.insert(s.columns.begin(), s.columns[0]); }),
             "each once"));
  CHECK(says(refusal([](Samples& s) { s.columns[0].name = ""; }), "has no name"));
  CHECK(says(refusal([](Samples& s) { s.lengths[2] = 2; }),
             "column \"input_ids\" has 24 bytes of data, 7 items of 4 bytes need 28"));
  CHECK(says(refusal([](Samples& s) { s.columns[0].rows[1] = 1; }), "column \"image\""));
  CHECK(says(refusal([](Samples& s) { s.columns[3].rows.pop_back(); }),
             "opaque column \"note\" has rows for 2 samples, must have 3"));
  CHECK(says(refusal([](Samples& s) { s.columns[1].rows = {2, 3, 1}; }),
             "per_token column \"input_ids\" has rows"));
  CHECK(says(refusal([](Samples& s) { s.columns[1].dtype = DType::kF32; }),
             "column \"input_ids\" must be one i32 a token"));
  CHECK(says(refusal([](Samples& s) { s.columns[2] = ragged("labels", {}, {0, 0, 0}); }),
             "column \"labels\" must be per_token or spans"));
  CHECK(says(refusal([](Samples& s) { s.columns[3].dtype = DType::kI8; }), "must be u8"));
  CHECK(says(refusal([](Samples& s) { s.columns[2].dtype = DType::kI64; }), "must be i32"));
  CHECK(says(refusal([](Samples& s) { s.columns[1] = spans("input_ids", {}, {0, 0, 0}); }),
             "column \"input_ids\" must be per_token"));
}

TEST_CASE("check_samples: spans must ascend within their sample") {
  const auto with = [](Rows begin_end, Rows rows) {
    return refusal([&](Samples& s) { s.columns[2] = spans("labels", begin_end, rows); });
  };
  CHECK(with({0, 1, 1, 3}, {0, 2, 0}) == "");
  CHECK(says(with({0, 3}, {1, 0, 0}), "sample 0 (\"s0:0\"): span 0 of column \"labels\""));
  CHECK(says(with({1, 1}, {0, 1, 0}), "[1, 1)"));
  CHECK(says(with({2, 1}, {0, 1, 0}), "[2, 1)"));
  CHECK(says(with({0, 2, 1, 3}, {0, 2, 0}), "span 1"));
}

TEST_CASE("check_samples: sizes that overflow are refused before they are believed") {
  CHECK(says(
      refusal([](Samples& s) { s.columns[0].item_shape = {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}; }),
      "too large"));
  CHECK(says(refusal([](Samples& s) {
               s.columns[0].item_shape = {0x80000000, 0x40000000};  // 2^62 bytes an item
               s.columns[0].rows = {8, 0, 0};                       // 2^65 bytes
             }),
             "too large"));
}

TEST_CASE("labels_of: spans, values or none, the first token of each sample is not trained") {
  Samples s = three();
  CHECK(labels_of(s) == Int32s{-100, 11, -100, 21, 22, -100});
  s.columns[2] = per_token("labels", {1, 2, 3, -100, 5, 6});
  CHECK(labels_of(s) == Int32s{-100, 2, -100, -100, 5, -100});
  s.columns.erase(s.columns.begin() + 2);
  CHECK(labels_of(s) == Int32s{-100, 11, -100, 21, 22, -100});
  CHECK(labels_of(Samples{}).empty());
}

TEST_CASE("labels_of: spans say the same as the values they stand for") {
  Samples s = three();
  s.columns[2] = spans("labels", {0, 1, 0, 1, 2, 3}, {1, 2, 0});
  CHECK(values_of_spans(s, s.columns[2]) == Int32s{10, -100, 20, -100, 22, -100});
  Samples t = three();
  t.columns[2] = per_token("labels", values_of_spans(s, s.columns[2]));
  CHECK(labels_of(s) == labels_of(t));
}

}  // namespace packline::test

#include "lib/delivery/digest.h"

#include <doctest/doctest.h>

#include <string>

#include "lib/hash/xxh3.h"

namespace packline {
namespace {

template <typename T>
std::string little_endian(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
  return bytes;
}
std::string u32(std::uint32_t v) { return little_endian(v); }
std::string u64(std::uint64_t v) { return little_endian(v); }
std::string int32s(std::initializer_list<std::int32_t> values) {
  std::string bytes;
  for (const std::int32_t v : values) bytes += little_endian(v);
  return bytes;
}

template <typename T>
Column column(std::string name, DType dtype, ColumnKind kind, std::vector<T> data,
              std::vector<std::uint32_t> rows) {
  return {std::move(name), dtype, kind, {}, Buffer::of(std::move(data)), std::move(rows)};
}

// Two samples, "s0:7" of two tokens and "x@s0:9" of one, and a picture of the second.
Samples example() {
  Samples pack;
  pack.ids = {"s0:7", "x@s0:9"};
  pack.lengths = {2, 1};
  pack.columns = {
      column<std::uint8_t>("image", DType::kU8, ColumnKind::kRagged, {0xAA, 0xBB}, {0, 2}),
      column<std::int32_t>("input_ids", DType::kI32, ColumnKind::kPerToken, {5, 6, 7}, {}),
      column<std::uint8_t>("tag", DType::kU8, ColumnKind::kOpaque, {'t'}, {1, 0})};
  return pack;
}

}  // namespace

// L1. h(pack) = xxh3_64 over (epoch, window, index of the pack in the window, its fields in name
// order as little-endian bytes, its sample ids).
TEST_CASE("pack_digest: the bytes of docs/stream.md section 7, written out") {
  const std::string bytes =
      u64(2) + u64(31) + u64(4) +                                      // epoch, window, index
      u32(5) + "image" + u64(2) + "\xAA\xBB" + u32(0) + u32(2) +       // ragged: rows follow
      u32(9) + "input_ids" + u64(12) + int32s({5, 6, 7}) +             // per token
      u32(6) + "labels" + u64(12) + int32s({-100, 6, -100}) +          // none given: input_ids
      u32(3) + "tag" + u64(1) + "t" + u32(1) + u32(0) +                // opaque: rows follow
      u32(2) + u32(2) + u32(4) + "s0:7" + u32(1) + u32(6) + "x@s0:9";  // samples
  CHECK(bytes.size() == 168);
  CHECK(pack_digest(2, 31, 4, example()) == xxh3(bytes));
  CHECK(pack_digest(2, 31, 4, example()) == 0x468721F172203609ULL);
}

TEST_CASE("pack_digest: labels count alike as nothing, spans or values") {
  const std::uint64_t digest = pack_digest(0, 0, 0, example());
  Samples spans = example();
  spans.columns.insert(
      spans.columns.begin() + 2,
      column<std::uint32_t>("labels", DType::kI32, ColumnKind::kSpans, {0, 2, 0, 1}, {1, 1}));
  CHECK(pack_digest(0, 0, 0, spans) == digest);
  Samples values = example();
  values.columns.insert(
      values.columns.begin() + 2,
      column<std::int32_t>("labels", DType::kI32, ColumnKind::kPerToken, {1, 6, -100}, {}));
  CHECK(pack_digest(0, 0, 0, values) == digest);  // the first token of a sample never counts
  values.columns[2].data = Buffer::of(std::vector<std::int32_t>{1, -100, -100});
  CHECK(pack_digest(0, 0, 0, values) != digest);
}

TEST_CASE("pack_digest: another field given as spans counts as its values") {
  Samples spans = example(), values = example();
  spans.columns.push_back(
      column<std::uint32_t>("weights", DType::kI32, ColumnKind::kSpans, {0, 1}, {1, 0}));
  values.columns.push_back(
      column<std::int32_t>("weights", DType::kI32, ColumnKind::kPerToken, {5, -100, -100}, {}));
  CHECK(pack_digest(0, 0, 0, spans) == pack_digest(0, 0, 0, values));
}

TEST_CASE("pack_digest: every part of a pack and of its place matters") {
  const std::uint64_t digest = pack_digest(1, 2, 3, example());
  CHECK(pack_digest(1, 2, 3, example()) == digest);
  CHECK(pack_digest(0, 2, 3, example()) != digest);
  CHECK(pack_digest(1, 0, 3, example()) != digest);
  CHECK(pack_digest(1, 2, 0, example()) != digest);
  Samples s = example();
  s.ids[0] = "s0:8";
  CHECK(pack_digest(1, 2, 3, s) != digest);
  s = example();
  s.lengths = {1, 2};
  CHECK(pack_digest(1, 2, 3, s) != digest);
  s = example();
  s.columns[0].rows = {2, 0};
  CHECK(pack_digest(1, 2, 3, s) != digest);
  s = example();
  s.columns[0].name = "imagf";
  CHECK(pack_digest(1, 2, 3, s) != digest);
  s = example();
  s.columns.pop_back();
  CHECK(pack_digest(1, 2, 3, s) != digest);
}

TEST_CASE("pack_digest: an empty pack has labels and no samples") {
  CHECK(pack_digest(0, 0, 1, Samples{}) ==
        xxh3(u64(0) + u64(0) + u64(1) + u32(6) + "labels" + u64(0) + u32(0)));
}

}  // namespace packline

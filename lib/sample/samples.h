#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/buffer.h"
#include "lib/base/result.h"

namespace packline {

enum class DType : std::uint8_t { kI8, kU8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64, kBool };

std::size_t size_of(DType t);
// "i8", "u8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "bool": the names on the wire.
std::string_view name_of(DType t);
Result<DType> dtype_from(std::string_view name);

// How the values of a column belong to the samples.
enum class ColumnKind : std::uint8_t {
  kPerToken,  // one item a token: input_ids, labels, loss_scale; concatenated along the tokens
  kRagged,    // rows[i] items for sample i: pixel_values, image_grid_thw; concatenated along axis 0
  kOpaque,    // rows[i] bytes for sample i that only the trainer understands; dtype is u8
  kSpans,     // a per-token int32 column that equals input_ids inside spans and is -100 outside:
           // rows[i] spans of sample i, each two u32 [begin, end) counted from the sample's start
};
std::string_view name_of(ColumnKind k);  // "per_token", "ragged", "opaque", "spans"
Result<ColumnKind> kind_from(std::string_view name);

// The value of a token without supervision.
constexpr std::int32_t kIgnore = -100;

// One field of a group of samples. `data` holds the items of all samples, one after the other, as
// little-endian bytes; an item is `item_shape` (product; empty = scalar) values of `dtype`.
struct Column {
  std::string name;
  DType dtype = DType::kI32;
  ColumnKind kind = ColumnKind::kPerToken;
  std::vector<std::uint32_t> item_shape;
  Buffer data;
  std::vector<std::uint32_t> rows;  // per sample; empty for kPerToken, whose rows are the lengths

  // 8 for kSpans, 1 for kOpaque; SIZE_MAX when item_shape describes more than that.
  std::size_t item_bytes() const;
};

// A group of samples, column by column: what an encoder makes of a record, the samples of a window,
// and a pack. Invariant (see check_samples): `ids` and `lengths` have one entry a sample, there is
// a per-token int32 column "input_ids" (a group of no samples may lack it), columns stand in the
// order of their names, each once, and each column's data has exactly the items that lengths or
// rows promise. "labels", where it is there, is per-token int32 or spans. Spans of a sample are not
// empty, ascend, do not overlap and end within it.
struct Samples {
  std::vector<std::string> ids;        // docs/stream.md section 4
  std::vector<std::uint32_t> lengths;  // tokens
  std::vector<Column> columns;

  std::size_t size() const { return lengths.size(); }
  std::uint64_t tokens() const;
  const Column* find(std::string_view name) const;
};

// A sentence that names the sample and column that break the invariant (kDataRefused), or nothing.
// Takes bytes from anywhere: nothing but sizes that add up is trusted.
Status check_samples(const Samples& s);

// The chosen samples, in the order of `chosen`, as a group of their own. Columns are kept even when
// no chosen sample has items in them.
Samples gather(const Samples& s, const std::vector<std::uint32_t>& chosen);

// All samples of the parts, one after the other. A column that some parts lack is completed:
// spans/per-token "labels" by what the lack means (every token supervised), a ragged or opaque
// column by no rows. A part that lacks any other per-token column, or has it with another dtype,
// item shape or kind, is an error (kDataRefused) that names the sample and the column. Where some
// parts have labels as spans and some as values, all become values; where some have a per-token
// column as i64 and some as f64, all become f64. Parts of no samples do not count. Each part keeps
// the invariant.
Result<Samples> concatenate(const std::vector<Samples>& parts);

// Whether the sample has rows in a ragged column, which only some of a model's modules look at.
bool is_media(const Samples& s, std::uint32_t sample);

// The labels of the tokens, unshifted: the column "labels", spans resolved, or input_ids when there
// is none; the first token of each sample is kIgnore. Size = tokens().
std::vector<std::int32_t> labels_of(const Samples& s);

// The int32 values that a kSpans column of s stands for. Size = tokens().
std::vector<std::int32_t> values_of_spans(const Samples& s, const Column& spans);

}  // namespace packline

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/corpus/record.h"

namespace packline {

// A `tokens` record of the plain kind that nearly all are: one object whose values are arrays of
// short integers and strings without escapes. Measured, numbers go through here several times as
// fast as through a general parser.
struct PlainTokens {
  std::string_view id;
  std::vector<std::int32_t> input_ids, labels, mask;
  bool has_labels = false, has_mask = false;
  std::vector<TokenColumn> others;  // every other array of integers, in the record's order

  // Reads the record, or gives false for anything but the plain kind: then the general parser has
  // to say what it is. What is accepted here the general parser accepts too, with the same result.
  // kPlainPadding bytes behind `line` must be readable spaces.
  bool read(std::string_view line, const FieldNames& fields);
};

constexpr std::size_t kPlainPadding = 16;

}  // namespace packline

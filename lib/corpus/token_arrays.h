#pragma once

#include <string>
#include <string_view>

#include "lib/corpus/json_walk.h"
#include "lib/corpus/record.h"

// The arrays of a `tokens` record. Internal to lib/corpus. Each reader walks over its value to the
// end; it gives "" or the sentence that says what is wrong.

namespace packline::json {

// An array of integers from `least` to 2^31 - 1, appended to `out`.
std::string read_int32s(od::value value, std::string_view key, std::int64_t least,
                        std::vector<std::int32_t>& out);

// An array of 0 and 1 or of booleans, as spans of what is 1; `size` gets its length.
std::string read_mask(od::value value, std::string_view key, std::vector<std::uint32_t>& spans,
                      std::size_t& size);

// An array as a column, or, when it holds anything but numbers, nothing: then `numbers` is false.
std::string read_numbers(od::value value, TokenColumn& column, bool& numbers);

// The runs of values other than `outside` as spans.
void append_spans(const std::vector<std::int32_t>& values, std::int32_t outside,
                  std::vector<std::uint32_t>& spans);

// Labels that are all -100 or the token's id, as spans. False when some are not.
bool spans_of(const std::vector<std::int32_t>& input_ids, const std::vector<std::int32_t>& labels,
              std::vector<std::uint32_t>& spans);

}  // namespace packline::json

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/corpus/source.h"

namespace packline {

// Bytes that a token id takes in a record of this form; 0 where it holds text.
std::size_t token_bytes(RecordForm form);

// Writes the ids of a binary record to `to`, which has room for bytes.size() / token_bytes(form) of
// them. Gives "" or the sentence that says which id is no token id: one below 0 or over 2^31 - 1.
std::string read_tokens(std::string_view bytes, RecordForm form, std::int32_t* to);

}  // namespace packline

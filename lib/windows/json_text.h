#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace packline {

// The text as a JSON string with its quotes, in plain UTF-8: control characters escaped, each byte
// that is no part of valid UTF-8 replaced by U+FFFD; a text of more than `max` bytes is cut at the
// last whole character and ends with "...".
std::string json_text(std::string_view text, std::size_t max);

}  // namespace packline

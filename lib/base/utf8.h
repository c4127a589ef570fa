#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace packline {

// The bytes of the UTF-8 character at the start of `text`; 0 when there is none (Unicode 15, table
// 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_length(std::string_view text);

// As UTF-8 of at most `bytes_max` bytes: cut before a character that does not fit, each byte that
// is part of none replaced by "_".
std::string as_utf8(std::string_view text, std::size_t bytes_max);

}  // namespace packline

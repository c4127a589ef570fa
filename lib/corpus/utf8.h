#pragma once

#include <cstddef>
#include <string_view>

namespace packline {

// The place of the first byte that is not part of valid UTF-8 (RFC 3629: no surrogates, nothing
// over U+10FFFF, no longer form than needed), or npos. For sentences; slow.
std::size_t first_bad_utf8(std::string_view text);

}  // namespace packline

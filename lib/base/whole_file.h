#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"

// Small files that are read and written as a whole. The errors (kUnreachable) read
// "<path> cannot be written: <cause>".

namespace packline {

Result<std::string> read_whole(const std::string& path);

// Readers see the file before or the new one, never a part: it is written beside and renamed.
Status write_whole(const std::string& path, std::string_view text);

// The same, but a file that is there stays: then false.
Result<bool> write_new(const std::string& path, std::string_view text);

}  // namespace packline

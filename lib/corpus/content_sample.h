#pragma once

#include <cstdint>
#include <string>

#include "lib/corpus/file.h"

namespace packline {

// A hash of a file's size and of at most 192 KiB of it: its first and last 64 KiB and 16 pieces of
// 4 KiB evenly spaced between them. Equal samples are taken for equal content; a file of up to
// 128 KiB is read whole.
Result<std::uint64_t> content_sample(const Fd& fd, const std::string& file, std::uint64_t size);

}  // namespace packline

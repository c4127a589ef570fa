#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.h"

// Paths of a job file: relative to its folder; patterns as the shell has them (* ? []).

namespace packline {

// The absolute, lexically normal form of `path` as seen from `folder`, which is absolute.
std::string absolute_path(const std::string& folder, const std::string& path);

// The absolute paths that a path or pattern names, sorted by their bytes. Errors, as the sentence
// for the job file: nothing is matched, a match is a folder, cannot be read, is no regular file, or
// two matches are the same file. A named pipe is as good as a file here, and is not opened.
tl::expected<std::vector<std::string>, std::string> matched_files(const std::string& folder,
                                                                  const std::string& pattern);

// Why a file cannot be read as one: "does not exist", "is a folder", ...; "" when it can.
enum class Pipes : std::uint8_t { kRefused, kTaken };
std::string why_unreadable(const std::string& path, Pipes pipes = Pipes::kRefused);

}  // namespace packline

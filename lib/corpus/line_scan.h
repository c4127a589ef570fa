#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "lib/corpus/file.h"

namespace packline {

// Where one record of a file stands: its line's bytes without a BOM, CR and LF.
struct IndexEntry {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;  // bytes, > 0
  std::uint32_t line = 0;    // from 1
  bool operator==(const IndexEntry&) const = default;
};
static_assert(sizeof(IndexEntry) == 16);

constexpr std::uint64_t kLineBytesMax = std::numeric_limits<std::uint32_t>::max();

struct Scanned {
  std::uint64_t entries = 0;
  std::uint64_t hash = 0;  // xxh3 of the entries' bytes
};

// Finds the records of a JSONL file and appends an entry for each to `index`, from the byte
// `index_at` on. Lines of only spaces, tabs and CR are no records. Reads
// the file once, from its start to `size`, and holds 4 MiB at most, whatever the length of its
// lines.
//
// Errors: a file that shrank, a line over `line_max` bytes or a file of more than 2^32 - 1 lines, a
// compressed file, an index that cannot be written (a full disk).
Result<Scanned> scan_lines(const Fd& fd, const std::string& file, std::uint64_t size,
                           const Fd& index, const std::string& index_file, std::uint64_t index_at,
                           std::uint64_t line_max = kLineBytesMax);

}  // namespace packline

#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "lib/corpus/byte_stream.h"
#include "lib/corpus/index.h"
#include "lib/corpus/say.h"

namespace packline {

// The longest record.
constexpr std::uint64_t kRecordBytesMax = std::numeric_limits<std::uint32_t>::max();

// Finds records in text that is fed to it piece by piece, however it is cut into pieces. Its inner
// loops cannot fail: what is wrong is noted, and asked for once a piece.
class RecordScanner {
 public:
  virtual ~RecordScanner() = default;
  // Leaves out the first bytes of the text: before any feed().
  virtual void skip(std::size_t n) = 0;
  virtual void feed(const char* p, const char* end) = 0;
  virtual void finish() = 0;  // the text ended
  // What makes the file unusable, as the end of a sentence that begins with its path; or "".
  virtual std::string trouble() const = 0;
  // What stands before this place of the text is in `entries`, or no part of a record.
  virtual std::uint64_t pending() const = 0;

  std::vector<IndexEntry> entries;  // taken away by the caller
};

// Feeds all of `in`, the content of `file` without a BOM at its start, to `scanner`, and writes
// what it finds. Holds a few MiB, whatever the length of its records. Says its progress when it
// takes long. Errors: kDataRefused, of the stream and of the scanner; an index that cannot be
// written.
Status scan_records(ByteStream& in, const StreamFile& file, RecordScanner& scanner,
                    IndexWriter& out, const Say& say);

}  // namespace packline

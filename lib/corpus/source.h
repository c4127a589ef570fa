#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace packline {

enum class Format : std::uint8_t { kText, kChat, kTokens };

// Which keys of a JSON record hold what; a job's `fields:` renames them.
struct FieldNames {
  std::string text = "text";
  std::string messages = "messages";
  std::string role = "role";
  std::string content = "content";
  std::string input_ids = "input_ids";
  std::string labels = "labels";
  std::string loss_mask = "loss_mask";
  std::string id = "id";
};

struct SourceSettings {
  std::string pattern;             // as in the job file, for sentences
  std::vector<std::string> files;  // what the pattern matched, absolute, sorted by bytes
  Format format = Format::kText;
  double weight = 0;
  double repeat = 1;
  FieldNames fields;
};

// One raw record: the bytes of its line, without the line's end. `bytes` is valid until the next
// read() of the same reader.
struct RawRecord {
  std::string_view bytes;
  std::uint32_t file = 0;  // index into SourceSettings::files
  std::uint64_t line = 0;  // from 1
};

// The records of one source, by number: a memory-mapped index over JSONL files (16 bytes a record,
// kept in the state folder, reused while the file is the same), so that any record is reached at
// once. Blank lines are no records; a BOM at a file's start and the CR of CRLF are not part of a
// record.
class Source {
 public:
  // Opens the files, makes or reuses their indexes. Two processes may do so at once: one makes an
  // index, the other waits for it. Errors (kDataRefused): a file that cannot be read or shrank
  // while being read, a full disk.
  static Result<std::unique_ptr<Source>> open(const SourceSettings& settings,
                                              const std::string& state_folder);
  virtual ~Source() = default;

  virtual std::uint64_t records() const = 0;
  // The bytes of one record; i < records(). Several readers of one Source may read at once, each
  // with its own scratch.
  virtual Result<RawRecord> read(std::uint64_t i, std::string& scratch) const = 0;
  virtual const SourceSettings& settings() const = 0;
  // "file:line" of a record, for sentences and the quarantine.
  virtual std::string where(std::uint64_t i) const = 0;
  // What the job's fingerprint says of this source's content: sizes and a content sample.
  virtual std::uint64_t content_hash() const = 0;
};

}  // namespace packline

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/corpus/order.h"
#include "lib/corpus/say.h"

namespace packline {

// kAny: whatever an encoder of the user's own takes.
enum class Format : std::uint8_t { kText, kChat, kTokens, kAny };

// How a source's files are read; kAuto: each by its name, see read_as_of().
enum class ReadAs : std::uint8_t { kAuto, kJsonl, kJson, kLines, kFiles, kMegatron };

// What is one record of a Megatron pair.
enum class RecordIs : std::uint8_t { kDocument, kSequence };

// What the bytes of a record are: a JSON object, plain text, or token ids of a width,
// little-endian.
enum class RecordForm : std::uint8_t { kJson, kText, kU8, kI8, kI16, kU16, kI32, kI64 };

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
  bool pipe = false;               // its one file is a named pipe
  ReadAs read_as = ReadAs::kAuto;
  Format format = Format::kText;
  RecordIs record = RecordIs::kDocument;
  double weight = 0;
  double repeat = 1;
  FieldNames fields;
};

// One raw record. `bytes` is valid until the next read() with the same scratch.
struct RawRecord {
  std::string_view bytes;
  std::uint32_t file = 0;  // index into SourceSettings::files
  std::uint64_t line = 0;  // from 1; of a Megatron pair the record's number there, from 0
  RecordForm form = RecordForm::kJson;
};

class PipeSource;

// The records of one source, by number, through all its files: any record is reached at once, by an
// index of 16 bytes a record that is kept in the state folder and reused while the file is the same
// (but files that are one record each need none).
//
// What is packed by gzip or zstd is unpacked into the state folder where records are read in any
// order (shuffle.kind: full); else it is read as it is, which is quick as long as reads go forwards
// on the whole, and takes up to kPackedMemory. Of lines: blank ones are no records; a BOM at a
// file's start and the CR of CRLF are not part of a record.
class Source {
 public:
  // Opens the files, makes or reuses their indexes and unpacked copies. Two processes may do so at
  // once: one makes them, the other waits for it. `say` is told what takes long, and kept for what
  // takes long while reading. Errors: kDataRefused, a file that cannot be read or is not what its
  // name or read_as says, or is damaged, or shrank; kWrongJob, a full disk, settings that do not go
  // together.
  static Result<std::unique_ptr<Source>> open(const SourceSettings& settings,
                                              const std::string& state_folder,
                                              const ShuffleSettings& shuffle = {},
                                              const Say& say = {});
  virtual ~Source() = default;

  virtual std::uint64_t records() const = 0;
  // The bytes of one record; i < records(). Several readers of one Source may read at once, each
  // with its own scratch.
  virtual Result<RawRecord> read(std::uint64_t i, std::string& scratch) const = 0;
  virtual const SourceSettings& settings() const = 0;
  // "file:line" of a record, for sentences and the quarantine; "NAME.bin:document 12".
  virtual std::string where(std::uint64_t i) const = 0;
  // What the job's fingerprint says of this source's content: sizes and a content sample.
  virtual std::uint64_t content_hash() const = 0;

  // This source where it is a pipe, whose records are there once they came (pipe_source.h).
  virtual PipeSource* as_pipe() { return nullptr; }

  // Bytes that a source holds of packed files that it reads as they are, at most.
  static constexpr std::uint64_t kPackedMemory = std::uint64_t{384} << 20;
};

}  // namespace packline

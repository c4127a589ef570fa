#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/corpus/forward_reader.h"
#include "lib/corpus/open_files.h"
#include "lib/corpus/order.h"
#include "lib/corpus/say.h"
#include "lib/corpus/source.h"
#include "lib/hash/xxh3.h"

// Internal to lib/corpus.

namespace packline {

// One file of a source. Several threads may read at once.
class SourceFile {
 public:
  virtual ~SourceFile() = default;
  virtual std::uint64_t records() const = 0;
  // As Source::read(), but for the file's number.
  virtual Result<RawRecord> read(std::uint64_t i, std::string& scratch) const = 0;
  virtual std::string where(std::uint64_t i) const = 0;
  // What the job's fingerprint says of its content: sizes and content samples.
  virtual void add_content(Hasher& hash) const = 0;
};

// What the files of one source share: they read through it, so it must outlive them.
struct SourceParts {
  std::string state_folder;
  ShuffleSettings shuffle;
  Say say;
  OpenFiles plain;
  ForwardReader packed;

  SourceParts(std::string state, const ShuffleSettings& order, const Say& told)
      : state_folder(std::move(state)), shuffle(order), say(told), packed(told) {}
};

// `scratch` with room for `size` bytes. What it grew for one long record is let go at the next
// short one.
char* room_in(std::string& scratch, std::size_t size);

// JSONL, a JSON array or lines of text, packed or not. A .json that does not begin with [ is read
// as JSONL when `guessed`, else refused.
Result<std::unique_ptr<SourceFile>> open_text_file(const std::string& file, ReadAs read_as,
                                                   bool guessed, SourceParts& parts);

// A file that is one record, packed or not; an empty one is none.
Result<std::unique_ptr<SourceFile>> open_whole_file(const std::string& file, SourceParts& parts);

// The pair `base`.idx and `base`.bin.
Result<std::unique_ptr<SourceFile>> open_megatron(const std::string& base, RecordIs record,
                                                  SourceParts& parts);

}  // namespace packline

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/base/result.h"
#include "lib/corpus/file.h"
#include "lib/corpus/line_scan.h"

namespace packline {

// Where the records of one JSONL file are: 16 bytes a record in a file of the state folder, mapped.
// It is valid for the file as it was when it was opened.
//
// The file `<state>/index/<hash of the path>.idx` is a header (kIndexHeaderBytes: magic, version,
// the data file's size, mtime and content sample, the number of entries, a hash of the header and
// one of the entries) and the entries, little-endian. It is reused while size and mtime are the
// same, or size and content sample (then the new mtime is noted); else, and when it is torn or not
// ours, made anew under another name and renamed. An flock makes one process make it and the others
// wait.
class FileIndex {
 public:
  static Result<FileIndex> open(const std::string& file, const std::string& state_folder);

  std::span<const IndexEntry> entries() const { return entries_; }
  const FileStamp& stamp() const { return stamp_; }
  std::uint64_t content() const { return content_; }  // the content sample
  bool made() const { return made_; }                 // by this open(), not reused

  // The index file of a data file.
  static std::string path_of(const std::string& file, const std::string& state_folder);

 private:
  Mapping mapping_;
  std::span<const IndexEntry> entries_;
  FileStamp stamp_;
  std::uint64_t content_ = 0;
  bool made_ = false;
};

constexpr std::size_t kIndexHeaderBytes = 64;

}  // namespace packline

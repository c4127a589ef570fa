#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/corpus/byte_stream.h"
#include "lib/corpus/file.h"
#include "lib/corpus/say.h"

namespace packline {

// Where one record of a file stands in its content.
struct IndexEntry {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;  // bytes
  std::uint32_t line = 0;    // from 1; 0 where there are no lines
  bool operator==(const IndexEntry&) const = default;
};
static_assert(sizeof(IndexEntry) == 16);

// An index while it is made: entries go to its file, the rest is small.
class IndexWriter {
 public:
  IndexWriter(const Fd& fd, const std::string& path);
  ~IndexWriter();

  Status add(std::span<const IndexEntry> entries);
  std::uint64_t entries() const { return entries_; }
  // Of the content, unpacked.
  void set_bytes(std::uint64_t bytes) { bytes_ = bytes; }
  // Where unpacking can begin, of a file that is packed.
  void set_restart_points(const RestartPoints& points) { points_ = points.all(); }

 private:
  friend class FileIndex;
  Status add_bytes(std::string_view bytes);

  const Fd& fd_;
  const std::string& path_;
  struct Body;
  std::unique_ptr<Body> body_;
  std::uint64_t entries_ = 0, bytes_ = 0;
  std::vector<RestartPoint> points_;
};

// How the records of a file are found.
struct IndexRecipe {
  std::string name;           // part of the index file's name: one file may be read in several ways
  std::uint64_t variant = 0;  // an index made with another one is made anew
  std::function<Status(const StreamFile& file, IndexWriter& out)> scan;
};

// Where the records of one file are: 16 bytes a record in a file of the state folder, mapped. It is
// valid for the file as it was when it was opened.
//
// The file `<state>/index/<hash of the path>-<name>.idx` is a header (kIndexHeaderBytes: magic,
// version, the data file's size, ctime and content sample, the recipe's variant, the content's
// size, the numbers of entries and of restart points, a hash of both, a hash of the header), the
// entries and the restart points, little-endian. It is reused while size and ctime are the same, or
// size and content sample (then the new ctime is noted); else, and when it is torn or not ours,
// made anew under another name and renamed. A lock makes one process make it and the others wait.
class FileIndex {
 public:
  static Result<FileIndex> open(const std::string& file, const std::string& state_folder,
                                const IndexRecipe& recipe, const Say& say = {});

  std::span<const IndexEntry> entries() const { return entries_; }
  std::span<const RestartPoint> restart_points() const { return points_; }
  std::uint64_t bytes() const { return bytes_; }  // of the content, unpacked
  const FileStamp& stamp() const { return stamp_; }
  std::uint64_t content() const { return content_; }  // the content sample
  bool made() const { return made_; }                 // by this open(), not reused

  // The index file of a data file.
  static std::string path_of(const std::string& file, const std::string& state_folder,
                             const std::string& recipe);

 private:
  static Status write(const StreamFile& data, const FileStamp& stamp, std::uint64_t content,
                      const IndexRecipe& recipe, const std::string& path);
  static Status make(const StreamFile& data, const FileStamp& stamp, std::uint64_t content,
                     const IndexRecipe& recipe, const std::string& path);

  Mapping mapping_;
  std::span<const IndexEntry> entries_;
  std::span<const RestartPoint> points_;
  FileStamp stamp_;
  std::uint64_t content_ = 0, bytes_ = 0;
  bool made_ = false;
};

constexpr std::size_t kIndexHeaderBytes = 88;

}  // namespace packline

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/fd.h"
#include "lib/base/result.h"

namespace packline {

// What tells one state of a file from another.
struct FileStamp {
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;  // ctime: unlike mtime nobody can set it back
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileStamp&) const = default;
};

// "FILE cannot be WHAT: CAUSE": the sentence of a call that failed with `error` (an errno).
std::string cannot(std::string_view file, std::string_view what, int error);

// Whether there is a named pipe (FIFO), or a link to one. Does not open it.
bool is_pipe(const std::string& path);

// A regular file, to be read. The errors name the file (kDataRefused).
Result<Fd> open_to_read(const std::string& file);
Result<FileStamp> stamp_of(const Fd& fd, const std::string& file);

// A file of the state folder, made where it is absent; `flags` as O_TRUNC (kWrongJob).
Result<Fd> open_to_write(const std::string& path, int flags);
// Makes a folder and those above it (kWrongJob).
Status make_folder(const std::string& path);
// Puts a finished file in the place of the one before (kWrongJob).
Status put_in_place(const std::string& fresh, const std::string& path);

// Reads up to `size` bytes from `offset`; fewer only where the file ends.
Result<std::size_t> read_at(const Fd& fd, const std::string& file, std::uint64_t offset, char* to,
                            std::size_t size);
Status write_at(const Fd& fd, const std::string& file, std::uint64_t offset, const char* from,
                std::size_t size);

// A whole file, mapped for reading. The file must not shrink while it is mapped: only for files
// that this program alone writes, and replaces by renaming.
class Mapping {
 public:
  Mapping() = default;
  ~Mapping();
  Mapping(Mapping&& o) noexcept : data_(o.data_), size_(o.size_) { o.data_ = nullptr; }
  Mapping& operator=(Mapping&& o) noexcept;
  static Result<Mapping> of(const Fd& fd, const std::string& file, std::size_t size);

  const char* data() const { return static_cast<const char*>(data_); }
  std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace packline

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/corpus/byte_stream.h"
#include "lib/corpus/file.h"

namespace packline {

// The contents of files, read at any place; the files are known by number.
class FileContents {
 public:
  virtual ~FileContents() = default;
  // Up to `size` bytes of a file's content; fewer only where it ends. Several threads may read at
  // once. Error: a file that was replaced, cut or damaged.
  virtual Result<std::size_t> read(std::size_t file, std::uint64_t offset, char* to,
                                   std::size_t size) const = 0;
};

// Files as they are. There may be more of them than a process may have open, so only so many stay
// open.
class OpenFiles final : public FileContents {
 public:
  static constexpr std::size_t kOpenMax = 256;

  // `stamp`: of the file as it must still be. Gives its number.
  std::size_t add(const std::string& path, const FileStamp& stamp);
  Result<std::size_t> read(std::size_t file, std::uint64_t offset, char* to,
                           std::size_t size) const override;
  // The file, open; shared, so that it stays open under a reader when it is closed here.
  Result<StreamFile> open(std::size_t file) const;
  const std::string& path(std::size_t file) const { return files_[file].path; }

 private:
  struct File {
    std::string path;
    FileStamp stamp;
    mutable std::shared_ptr<const Fd> fd;  // guarded by mutex_
    mutable std::uint64_t last_used = 0;   // guarded by mutex_
  };
  void close_one() const;

  std::vector<File> files_;
  mutable std::mutex mutex_;
  mutable std::uint64_t uses_ = 0;
  mutable std::size_t open_ = 0;
};

}  // namespace packline

#include "lib/corpus/open_files.h"

#include <fmt/format.h>

#include <utility>

namespace packline {

std::size_t OpenFiles::add(const std::string& path, const FileStamp& stamp) {
  files_.push_back({path, stamp, nullptr, 0});
  return files_.size() - 1;
}

Result<std::size_t> OpenFiles::read(std::size_t file, std::uint64_t offset, char* to,
                                    std::size_t size) const {
  const auto opened = open(file);
  if (!opened) return tl::unexpected(opened.error());
  return read_at(*opened->fd, opened->path, offset, to, size);
}

Result<StreamFile> OpenFiles::open(std::size_t number) const {
  const std::lock_guard guard(mutex_);
  const File& file = files_[number];
  file.last_used = ++uses_;
  if (file.fd) return StreamFile{file.fd, file.path, file.stamp.size};
  auto fd = open_to_read(file.path);
  if (!fd) return tl::unexpected(fd.error());
  const auto now = stamp_of(*fd, file.path);
  if (!now) return tl::unexpected(now.error());
  const FileStamp& was = file.stamp;
  if (now->inode != was.inode || now->device != was.device || now->size < was.size) {
    return fail(ExitCode::kDataRefused,
                fmt::format("{} was replaced or cut while it was in use: start again when it is "
                            "whole",
                            file.path));
  }
  if (++open_ > kOpenMax) close_one();
  file.fd = std::make_shared<const Fd>(std::move(*fd));
  return StreamFile{file.fd, file.path, file.stamp.size};
}

void OpenFiles::close_one() const {
  const File* oldest = nullptr;
  for (const File& f : files_) {
    if (f.fd && (oldest == nullptr || f.last_used < oldest->last_used)) oldest = &f;
  }
  oldest->fd.reset();
  --open_;
}

}  // namespace packline

#include "lib/corpus/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace packline {

std::string cannot(std::string_view file, std::string_view what, int error) {
  return fmt::format("{} cannot be {}: {}", file, what, std::generic_category().message(error));
}

bool is_pipe(const std::string& path) {
  struct stat st = {};
  return ::stat(path.c_str(), &st) == 0 && S_ISFIFO(st.st_mode);
}

Result<Fd> open_to_read(const std::string& file) {
  int fd;
  // Without O_NONBLOCK a pipe without a writer would keep us here for ever.
  do fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return fail(ExitCode::kDataRefused, cannot(file, "opened", errno));
  Fd open(fd);
  struct stat st = {};
  if (::fstat(fd, &st) != 0) return fail(ExitCode::kDataRefused, cannot(file, "looked at", errno));
  if (!S_ISREG(st.st_mode)) {
    return fail(
        ExitCode::kDataRefused,
        fmt::format("{} is not a regular file: name files that can be read from any place", file));
  }
  return open;
}

Result<FileStamp> stamp_of(const Fd& fd, const std::string& file) {
  struct stat st = {};
  if (::fstat(fd.get(), &st) != 0) {
    return fail(ExitCode::kDataRefused, cannot(file, "looked at", errno));
  }
  return FileStamp{static_cast<std::uint64_t>(st.st_size),
                   st.st_ctim.tv_sec * std::int64_t{1000000000} + st.st_ctim.tv_nsec,
                   static_cast<std::uint64_t>(st.st_dev), static_cast<std::uint64_t>(st.st_ino)};
}

Result<Fd> open_to_write(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_CREAT | flags, 0666);
  if (fd < 0) return fail(ExitCode::kWrongJob, cannot(path, "opened for writing", errno));
  return Fd(fd);
}

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail(ExitCode::kWrongJob, cannot(path, "made", error.value()));
  return {};
}

Status put_in_place(const std::string& fresh, const std::string& path) {
  if (std::rename(fresh.c_str(), path.c_str()) == 0) return {};
  return fail(ExitCode::kWrongJob, cannot(fresh, "renamed", errno));
}

Result<std::size_t> read_at(const Fd& fd, const std::string& file, std::uint64_t offset, char* to,
                            std::size_t size) {
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = ::pread(fd.get(), to + got, size - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(ExitCode::kDataRefused, cannot(file, "read", errno));
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  return got;
}

Status write_at(const Fd& fd, const std::string& file, std::uint64_t offset, const char* from,
                std::size_t size) {
  std::size_t put = 0;
  while (put < size) {
    const ssize_t n = ::pwrite(fd.get(), from + put, size - put, static_cast<off_t>(offset + put));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      return fail(ExitCode::kWrongJob, cannot(file, "written", errno) +
                                           ": make room there, or name another state folder");
    }
    put += static_cast<std::size_t>(n);
  }
  return {};
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}
Mapping& Mapping::operator=(Mapping&& o) noexcept {
  std::swap(data_, o.data_);
  std::swap(size_, o.size_);
  return *this;
}

Result<Mapping> Mapping::of(const Fd& fd, const std::string& file, std::size_t size) {
  Mapping m;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return fail(ExitCode::kDataRefused, cannot(file, "mapped", errno));
  m.data_ = data;
  m.size_ = size;
  return m;
}

}  // namespace packline

#include "lib/transport/ipc_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace packline {
namespace {

tl::unexpected<Error> cannot(const std::string& path, const char* what) {
  return fail(
      ExitCode::kUnreachable,
      fmt::format("ipc://{}: cannot {}: {}; give an ipc path in a folder that this user may write",
                  path, what, std::strerror(errno)));
}

std::string holder_of(int fd) {
  char text[32] = {};
  const ssize_t n = ::pread(fd, text, sizeof text - 1, 0);
  return n > 0 ? fmt::format("process {}", std::string_view(text, static_cast<std::size_t>(n)))
               : std::string("another process");
}

// Whether the file that is locked is still the one that the path names: the holder before may have
// removed it between our open and our lock.
bool still_there(int fd, const std::string& lock_path) {
  struct stat mine{}, there{};
  return ::fstat(fd, &mine) == 0 && ::stat(lock_path.c_str(), &there) == 0 &&
         mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

}  // namespace

Result<IpcLock> IpcLock::take(const std::string& path) {
  const std::string lock_path = path + ".lock";
  for (;;) {
    Fd fd(::open(lock_path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.open()) return cannot(path, "make its lock file");
    int rc = 0;
    do {
      rc = ::flock(fd.get(), LOCK_EX | LOCK_NB);
    } while (rc < 0 && errno == EINTR);
    if (rc < 0 && errno == EWOULDBLOCK) {
      return fail(
          ExitCode::kUnreachable,
          fmt::format("ipc://{}: is held by {}; end that process, or give this one another address",
                      path, holder_of(fd.get())));
    }
    if (rc < 0) return cannot(path, "lock its lock file");
    if (!still_there(fd.get(), lock_path)) continue;
    const std::string pid = fmt::format("{}", ::getpid());
    if (::ftruncate(fd.get(), 0) < 0 ||
        ::pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
      return cannot(path, "write its lock file");
    }
    struct stat old{};
    if (::lstat(path.c_str(), &old) == 0) {
      if (!S_ISSOCK(old.st_mode)) {
        return fail(ExitCode::kUnreachable,
                    fmt::format("ipc://{}: there is a file that is no socket; move it away, or "
                                "give another address",
                                path));
      }
      ::unlink(path.c_str());
    }
    return IpcLock(path, std::move(fd));
  }
}

IpcLock::~IpcLock() {
  if (!fd_.open()) return;  // moved from
  ::unlink(path_.c_str());
  ::unlink((path_ + ".lock").c_str());
}

}  // namespace packline

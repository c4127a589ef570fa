#include "lib/base/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "lib/base/fd.h"

namespace packline {
namespace {

tl::unexpected<Error> cannot(const std::string& path, const char* what, int error) {
  return fail(ExitCode::kUnreachable,
              fmt::format("{} cannot be {}: {}", path, what, std::strerror(error)));
}

// 0, or the errno of what failed.
int write_beside(const std::string& temporary, std::string_view text) {
  const Fd fd(::open(temporary.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644));
  if (!fd.open()) return errno;
  while (!text.empty()) {
    const ssize_t n = ::write(fd.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

std::string beside(const std::string& path) { return fmt::format("{}.{}", path, ::getpid()); }

}  // namespace

Result<std::string> read_whole(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.open()) return cannot(path, "read", errno);
  std::string text;
  char buffer[1 << 14];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot(path, "read", errno);
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

Status write_whole(const std::string& path, std::string_view text) {
  const std::string temporary = beside(path);
  int error = write_beside(temporary, text);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(temporary.c_str());
  return cannot(path, "written", error);
}

Result<bool> write_new(const std::string& path, std::string_view text) {
  const std::string temporary = beside(path);
  int error = write_beside(temporary, text);
  if (error == 0 && ::link(temporary.c_str(), path.c_str()) != 0) error = errno;
  ::unlink(temporary.c_str());
  if (error == 0) return true;
  if (error == EEXIST) return false;
  return cannot(path, "written", error);
}

}  // namespace packline

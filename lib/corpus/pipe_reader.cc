#include "lib/corpus/pipe_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/whole_file.h"
#include "lib/corpus/file.h"
#include "lib/hash/xxh3.h"

namespace packline {
namespace {

constexpr int kPipeBytes = 1 << 20;  // what the system may keep of it; a wish

}  // namespace

PipeReader::PipeReader(std::string path, const std::string& state_folder)
    : path_(std::move(path)),
      folder_(state_folder + "/pipes"),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  PL_CHECK(wake_.open());
}

// A pipe that is made anew under its name is another one.
std::string PipeReader::note() const {
  struct stat st = {};
  ::stat(path_.c_str(), &st);
  Hasher hash;
  hash.add(path_);
  hash.add(static_cast<std::uint64_t>(st.st_dev));
  hash.add(static_cast<std::uint64_t>(st.st_ino));
  return fmt::format("{}/{:016x}", folder_, hash.value());
}

Status PipeReader::unread() const {
  if (fd_.open()) return {};  // by this one
  const std::string begun = note();
  if (::access(begun.c_str(), F_OK) != 0) return {};
  const auto who = read_whole(begun);
  return fail(ExitCode::kDataRefused,
              fmt::format("the pipe {} was begun by {} and not read to its end: what was taken out "
                          "of it is gone, and a pipe cannot go back. Begin the stream anew: end "
                          "what writes to it, remove {}, start the line and the writer",
                          path_, who && !who->empty() ? *who : "another process", begun));
}

Status PipeReader::open() {
  int fd = -1;
  do fd = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return fail(ExitCode::kDataRefused, cannot(path_, "opened", errno));
  Fd opened(fd);
  struct stat st = {};
  if (::fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode)) {
    return fail(ExitCode::kDataRefused,
                fmt::format("{} is no pipe any more: start the line again", path_));
  }
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return fail(ExitCode::kDataRefused,
                fmt::format("the pipe {} is being read by another process: give each line a pipe "
                            "of its own",
                            path_));
  }
  if (auto ok = make_folder(folder_); !ok) return ok;
  if (auto ok = unread(); !ok) return ok;
  const auto written = write_new(note(), fmt::format("process {}", ::getpid()));
  if (!written) return fail(ExitCode::kWrongJob, written.error().text);
  ::fcntl(fd, F_SETPIPE_SZ, kPipeBytes);
  fd_ = std::move(opened);
  return {};
}

Status PipeReader::wait_for_bytes() {
  waiting_ = true;
  std::array<pollfd, 2> fds = {{{fd_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
  int rc = 0;
  do rc = ::poll(fds.data(), fds.size(), -1);
  while (rc < 0 && errno == EINTR);
  waiting_ = false;
  if (rc < 0) return fail(ExitCode::kDataRefused, cannot(path_, "waited for", errno));
  return {};
}

Result<PipeReader::Got> PipeReader::read(char* to, std::size_t size, bool wait) {
  if (ended_) return Got{0, true};
  if (!fd_.open()) {
    if (auto ok = open(); !ok) return tl::unexpected(ok.error());
  }
  for (;;) {
    if (cancelled_) return fail(ExitCode::kTerminated, "reading was cancelled");
    // Only poll() tells a pipe whose writer has not come yet from one whose writer has gone: to
    // read(), both have ended.
    pollfd now = {fd_.get(), POLLIN, 0};
    const int ready = ::poll(&now, 1, 0);
    if (ready > 0) {
      const ssize_t n = ::read(fd_.get(), to, size);
      if (n > 0) {
        began_ = true;
        return Got{static_cast<std::size_t>(n), false};
      }
      if (n == 0) {
        ended_ = true;
        ::unlink(note().c_str());
        return Got{0, true};
      }
      if (errno != EINTR && errno != EAGAIN) {
        return fail(ExitCode::kDataRefused, cannot(path_, "read", errno));
      }
    }
    if (!wait) return Got{};
    if (auto ok = wait_for_bytes(); !ok) return tl::unexpected(ok.error());
  }
}

void PipeReader::cancel() {
  cancelled_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);  // it cannot be full
}

std::string PipeReader::waits() const {
  if (!waiting_) return "";
  return fmt::format("the pipe {}, {}", path_,
                     began_ ? "whose writer sends nothing" : "to which nothing was written yet");
}

}  // namespace packline

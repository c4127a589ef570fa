#include "lib/corpus/file_lock.h"

#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace packline {

Result<Fd> lock_file(const std::string& path, const std::string& what, const Say& say,
                     Duration first, Duration every) {
  using std::chrono::milliseconds;
  auto fd = open_to_write(path, 0);
  if (!fd) return fd;
  LongWork waiting(say, first, every);
  // A lock cannot be waited for with a limit, so it is asked for again and again: at first often,
  // since most indexes are made in no time.
  for (Duration pause = milliseconds(1);; pause = std::min<Duration>(2 * pause, milliseconds(50))) {
    if (::flock(fd->get(), LOCK_EX | LOCK_NB) == 0) return fd;
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return fail(ExitCode::kWrongJob, cannot(path, "locked", errno));
    }
    waiting.tick([&](std::int64_t seconds) {
      return fmt::format("waits since {} s for another process to let go of {}: {}", seconds, path,
                         what);
    });
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace packline

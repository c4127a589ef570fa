#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "lib/base/random.h"

namespace packline::test {

inline std::string make_pipe(const std::string& path) {
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  return path;
}

// Writes a text into a named pipe from a thread of its own, in pieces of many sizes, and closes it.
// Ends early when the reader goes.
class PipeWriter {
 public:
  PipeWriter(std::string path, std::string text, std::uint64_t seed = 1)
      : thread_([path = std::move(path), text = std::move(text), seed] {
          ::signal(SIGPIPE, SIG_IGN);
          const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
          Rng rng(seed);
          for (std::size_t at = 0; at < text.size();) {
            const std::size_t piece =
                rng.below(8) == 0 ? 1 + rng.below(100'000) : 1 + rng.below(40);
            const ssize_t n = ::write(fd, text.data() + at, std::min(piece, text.size() - at));
            if (n <= 0) break;
            at += static_cast<std::size_t>(n);
          }
          ::close(fd);
        }) {}
  ~PipeWriter() { thread_.join(); }

 private:
  std::thread thread_;
};

}  // namespace packline::test

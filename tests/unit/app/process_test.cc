#include "lib/app/process.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace packline {
namespace {

bool is_readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

TEST_CASE("Signals: the first asks to drain, the second to stop at once") {
  Signals signals;
  CHECK_FALSE(is_readable(signals.fd()));
  CHECK(signals.read() == Signals::Stop::kNo);
  CHECK(signals.exit_code() == ExitCode::kDone);
  ::kill(::getpid(), SIGTERM);
  CHECK(is_readable(signals.fd()));
  CHECK(signals.read() == Signals::Stop::kDrain);
  CHECK(signals.read() == Signals::Stop::kDrain);  // nothing new
  CHECK(signals.exit_code() == ExitCode::kTerminated);
  ::kill(::getpid(), SIGINT);
  CHECK(signals.read() == Signals::Stop::kNow);
  CHECK(signals.exit_code() == ExitCode::kTerminated);  // of the first
}

TEST_CASE("Signals: an interrupt is told apart from a termination") {
  Signals signals;
  ::kill(::getpid(), SIGINT);
  CHECK(signals.read() == Signals::Stop::kDrain);
  CHECK(signals.exit_code() == ExitCode::kInterrupted);
}

TEST_CASE("Signals: a broken pipe is an error of write, not the end") {
  Signals signals;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  CHECK(::write(ends[1], "x", 1) == -1);
  ::close(ends[1]);
}

// How a child that does `what` ended.
template <typename Do>
int status_of_child(Do what) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    what();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

TEST_CASE("Signals: a child that restored the defaults is ended by a signal") {
  Signals signals;
  const int kept = status_of_child([] { ::raise(SIGTERM); });
  CHECK(WIFEXITED(kept));  // blocked: it is inherited
  const int ended = status_of_child([] {
    std::signal(SIGTERM, SIG_DFL);  // the test runner has a handler, which exec would undo
    Signals::restore_defaults();
    ::raise(SIGTERM);
  });
  CHECK(WIFSIGNALED(ended));
  CHECK(WTERMSIG(ended) == SIGTERM);
}

}  // namespace
}  // namespace packline

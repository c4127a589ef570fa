#include "lib/app/process.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "lib/base/check.h"

namespace packline {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

Signals::Signals() {
  const sigset_t set = stop_signals();
  PL_CHECK(::pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  PL_CHECK(std::signal(SIGPIPE, SIG_IGN) != SIG_ERR);
  fd_ = Fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  PL_CHECK(fd_.open());
}

Signals::~Signals() { restore_defaults(); }

Signals::Stop Signals::read() {
  signalfd_siginfo info{};
  for (;;) {
    const ssize_t n = ::read(fd_.get(), &info, sizeof info);
    if (n < 0 && errno == EINTR) continue;
    if (n != static_cast<ssize_t>(sizeof info)) return stop_;
    if (stop_ == Stop::kNo) {
      stop_ = Stop::kDrain;
      exit_code_ = info.ssi_signo == SIGINT ? ExitCode::kInterrupted : ExitCode::kTerminated;
    } else {
      stop_ = Stop::kNow;
    }
  }
}

void Signals::restore_defaults() {
  std::signal(SIGPIPE, SIG_DFL);
  const sigset_t set = stop_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace packline

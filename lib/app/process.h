#pragma once

#include <cstdint>

#include "lib/base/fd.h"
#include "lib/base/result.h"

namespace packline {

// Signals as something that a loop can wait for. Made in main before any thread starts, since it
// blocks SIGTERM and SIGINT for the threads to come. SIGPIPE is ignored.
class Signals {
 public:
  // How far to stop.
  enum class Stop : std::uint8_t {
    kNo,
    kDrain,  // the first SIGTERM or SIGINT: take nothing new, finish what is under way
    kNow,    // the second
  };

  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();  // signals act as before

  int fd() const { return fd_.get(); }  // readable when a signal arrived
  // Reads what arrived; never goes back.
  Stop read();
  // Of the first signal: kInterrupted or kTerminated; kDone when there was none.
  ExitCode exit_code() const { return exit_code_; }

  // For a child between fork and exec: what is blocked and ignored here must not be so there. Safe
  // after a fork in a process with threads.
  static void restore_defaults();

 private:
  Fd fd_;
  Stop stop_ = Stop::kNo;
  ExitCode exit_code_ = ExitCode::kDone;
};

}  // namespace packline

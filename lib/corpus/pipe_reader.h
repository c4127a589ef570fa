#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "lib/base/fd.h"
#include "lib/base/result.h"

namespace packline {

// The bytes of a named pipe, once, from front to back. Opened with the first read(), so that
// whoever only looks at a job does not let a writer begin.
//
// What was taken out of a pipe is gone. So a note stands in `<state>/pipes` from the first read to
// the pipe's end: who finds it there comes after a process that died in the middle, and would take
// what follows for the beginning. One process reads a pipe at a time: it is locked.
//
// One thread at a time but for cancel() and waits().
class PipeReader {
 public:
  PipeReader(std::string path, const std::string& state_folder);

  struct Got {
    std::size_t bytes = 0;  // 0 and not ended: nothing is there now
    bool ended = false;     // every writer has closed it
  };
  // Waits for bytes or the end where `wait` says so. Errors: kDataRefused, what unread() says, and
  // another process that reads it; kWrongJob, a note that cannot be written; kTerminated,
  // cancelled.
  Result<Got> read(char* to, std::size_t size, bool wait);

  // Whether it can still be read from its beginning. Error (kDataRefused): someone began already.
  Status unread() const;

  // From any thread: ends a read() that waits, and those to come.
  void cancel();
  // From any thread: "the pipe P, whose writer sends nothing" while read() waits for it, else "".
  std::string waits() const;

  const std::string& path() const { return path_; }

 private:
  Status open();
  Status wait_for_bytes();
  std::string note() const;

  const std::string path_, folder_;
  Fd fd_, wake_;
  bool ended_ = false;
  std::atomic<bool> cancelled_ = false, waiting_ = false, began_ = false;
};

}  // namespace packline

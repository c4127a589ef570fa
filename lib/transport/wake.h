#pragma once

#include "lib/base/fd.h"

namespace packline {

// Wakes a loop from another thread. Signals between two clears count as one.
class Wake {
 public:
  Wake();
  void signal() noexcept;  // from any thread
  void clear() noexcept;   // by the loop's thread, before it looks for what was signalled
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

}  // namespace packline

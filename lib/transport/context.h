#pragma once

#include <string>
#include <vector>
#include <zmq.hpp>

#include "lib/transport/ipc_lock.h"

namespace packline {

// What the sockets of a process share: one I/O thread, and the locks of the ipc paths they bound.
// It must outlive its sockets. The locks are given up last: a socket removes its file from the I/O
// thread some time after it was closed, and by then nobody else may have bound the path.
class Context {
 public:
  Context() : zmq_(1) { zmq_.set(zmq::ctxopt::blocky, 0); }

  zmq::context_t& zmq() { return zmq_; }

  // Before an ipc path is bound.
  Status lock(const std::string& path);

 private:
  std::vector<IpcLock> locks_;
  zmq::context_t zmq_;
};

}  // namespace packline

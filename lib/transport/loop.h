#pragma once

#include <cstddef>
#include <vector>
#include <zmq.hpp>

#include "lib/base/instant.h"
#include "lib/transport/socket.h"

namespace packline {

// What a service waits in: sockets, file descriptors and a deadline. Of one thread.
//
//   for (;;) {
//     loop.wait(machine.next_deadline());
//     const Instant t = now();
//     while (auto m = socket.receive()) ...
//   }
class Loop {
 public:
  using Id = std::size_t;

  // The socket or descriptor must live until forget().
  Id watch(const Socket& socket);
  Id watch(int fd);
  // Ready when peers of the socket came or went, until its peers() is called.
  Id watch_peers(const Socket& socket);
  void forget(Id id);

  // At first an entry wakes the loop when it can be read, and not when it can be written. A socket
  // that is not to be read (its reader is full) must not wake the loop, or the loop would spin.
  void wake_when_readable(Id id, bool yes);
  void wake_when_writable(Id id, bool yes);

  // Waits until an entry is ready, a signal arrives or the deadline has passed. Returns whether an
  // entry is ready.
  bool wait(Instant deadline);

 private:
  Id add(zmq_pollitem_t item);

  struct Entry {
    bool in_use = false;
    zmq_pollitem_t item{};
  };
  std::vector<Entry> entries_;  // by id
  std::vector<zmq_pollitem_t> items_;
};

}  // namespace packline

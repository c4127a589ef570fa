#pragma once

#include <memory>
#include <zmq.hpp>

#include "lib/transport/context.h"

namespace packline {

// Counts the peers that are connected to a socket now: those whose handshake succeeded. Belongs to
// a Socket, which destroys it before the socket it watches.
class Peers {
 public:
  // `socket` is the handle of an open socket. Begins with 0: make it before the socket binds or
  // connects.
  static Result<std::unique_ptr<Peers>> watch(Context& context, void* socket);

  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  ~Peers();

  // Reads what happened since the last call; never blocks.
  int count();
  // Becomes readable when something happened.
  void* handle() { return events_.handle(); }

 private:
  Peers(void* socket, zmq::socket_t events) : socket_(socket), events_(std::move(events)) {}

  void* socket_;
  zmq::socket_t events_;
  int count_ = 0;
  bool handshake_failed_ = false;  // the next disconnection is of one that never was a peer
};

}  // namespace packline

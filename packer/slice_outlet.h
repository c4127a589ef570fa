#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "lib/base/instant.h"
#include "lib/transport/socket.h"

namespace packline {

// The way to one sink. A slice that cannot be written now waits a moment: a connection takes a
// moment to come up, and a sink may be busy. While it waits the packer takes no further window
// (congested()), so that a fast packer does not run over a sink. A sink that takes nothing for
// longer loses its slices, and the producer's lease brings them again: a dead sink holds up the
// others once, for that moment.
class SliceOutlet {
 public:
  explicit SliceOutlet(Socket socket) : socket_(std::move(socket)) {}

  // False when the slice was dropped.
  bool send(std::vector<Buffer> frames, Instant now);
  // Writes what waits; returns how many slices were dropped because they had waited too long.
  std::uint64_t flush(Instant now);
  bool waiting() const { return !queue_.empty(); }
  // Something waits, and not yet for so long that the sink counts as dead.
  bool congested(Instant now) const;
  Instant used() const { return used_; }
  const Socket& socket() const { return socket_; }
  void set_linger(Duration d) { socket_.set_linger(d); }

 private:
  Socket socket_;
  std::deque<std::vector<Buffer>> queue_;
  std::optional<Instant>
      blocked_since_;  // while something waits; a slice that went through is news
  Instant used_{};
};

}  // namespace packline

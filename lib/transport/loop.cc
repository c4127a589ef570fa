#include "lib/transport/loop.h"

#include <algorithm>

#include "lib/base/check.h"
#include "lib/transport/clock.h"

namespace packline {
namespace {

constexpr Duration kLongest = std::chrono::hours(1);

// Rounded up, so that the deadline has passed when the time is over.
long timeout_ms(Instant deadline) {
  const Duration left = std::clamp(deadline - now(), Duration::zero(), kLongest);
  return static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

}  // namespace

Loop::Id Loop::add(zmq_pollitem_t item) {
  const auto free =
      std::find_if(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.in_use; });
  const Id id = static_cast<Id>(free - entries_.begin());
  if (free == entries_.end()) entries_.emplace_back();
  entries_[id] = {true, item};
  return id;
}

Loop::Id Loop::watch(const Socket& socket) { return add({socket.handle(), 0, ZMQ_POLLIN, 0}); }

Loop::Id Loop::watch_peers(const Socket& socket) {
  return add({socket.peers_handle(), 0, ZMQ_POLLIN, 0});
}

Loop::Id Loop::watch(int fd) { return add({nullptr, fd, ZMQ_POLLIN, 0}); }

void Loop::forget(Id id) { entries_.at(id) = {}; }

void Loop::wake_when_readable(Id id, bool yes) {
  short& events = entries_.at(id).item.events;
  events = static_cast<short>(yes ? events | ZMQ_POLLIN : events & ~ZMQ_POLLIN);
}

void Loop::wake_when_writable(Id id, bool yes) {
  short& events = entries_.at(id).item.events;
  events = static_cast<short>(yes ? events | ZMQ_POLLOUT : events & ~ZMQ_POLLOUT);
}

bool Loop::wait(Instant deadline) {
  items_.clear();
  for (const Entry& e : entries_) {
    if (e.in_use) items_.push_back(e.item);
  }
  const int count = static_cast<int>(items_.size());
  const int rc = zmq_poll(items_.data(), count, timeout_ms(deadline));
  PL_CHECK(rc >= 0 || zmq_errno() == EINTR);
  return rc > 0;
}

}  // namespace packline

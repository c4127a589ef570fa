#pragma once

#include <doctest/doctest.h>

#include <string>

#include "lib/transport/clock.h"
#include "lib/transport/loop.h"
#include "lib/transport/socket.h"
#include "tests/unit/temp_folder.h"

namespace packline {

// A folder of its own, with ipc addresses.
class Folder : public test::TempFolder {
 public:
  std::string file(const std::string& name) const { return path(name); }
  std::string ipc(const std::string& name) const { return "ipc://" + file(name); }
};

constexpr Duration kPatience = std::chrono::seconds(20);  // of a test, never spent when all is well

inline std::string text_of(const Buffer& b) {
  return b.empty() ? "" : std::string(reinterpret_cast<const char*>(b.data()), b.size());
}

inline Buffer buffer_of(const std::string& s) {
  return Buffer::of(std::vector<char>(s.begin(), s.end()));
}

template <typename T>
T got(Result<T> r) {
  REQUIRE_MESSAGE(r.has_value(), (r ? "" : r.error().text));
  return std::move(*r);
}

// Waits for a message.
inline Incoming receive_from(Socket& s) {
  Loop loop;
  loop.watch(s);
  const Instant end = now() + kPatience;
  for (;;) {
    if (auto m = s.receive()) return std::move(*m);
    REQUIRE(now() < end);
    loop.wait(end);
  }
}

// Sends once a peer is there and has room.
inline void send_through(Socket& s, const std::vector<Buffer>& frames) {
  Loop loop;
  const auto id = loop.watch(s);
  loop.wake_when_readable(id, false);
  loop.wake_when_writable(id, true);
  const Instant end = now() + kPatience;
  while (s.send(frames) != Sent::kSent) {
    REQUIRE(now() < end);
    loop.wait(end);
  }
}

// Waits until the socket has that many peers.
inline void await_peers(Socket& s, int count) {
  Loop loop;
  loop.watch_peers(s);
  const Instant end = now() + kPatience;
  while (s.peers() != count) {
    REQUIRE(now() < end);
    loop.wait(end);
  }
}

}  // namespace packline

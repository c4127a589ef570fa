#include "lib/transport/peers.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>

namespace packline {
namespace {

constexpr int kFailures = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
constexpr int kEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | kFailures;

}  // namespace

Result<std::unique_ptr<Peers>> Peers::watch(Context& context, void* socket) {
  static std::atomic<unsigned> number{0};
  const std::string address = fmt::format("inproc://peers-{}", number++);
  try {
    if (zmq_socket_monitor(socket, address.c_str(), kEvents) != 0) throw zmq::error_t();
    zmq::socket_t events(context.zmq(), zmq::socket_type::pair);
    events.set(zmq::sockopt::linger, 0);
    events.set(zmq::sockopt::rcvhwm, 0);  // the I/O thread must never wait for us
    events.connect(address);
    return std::unique_ptr<Peers>(new Peers(socket, std::move(events)));
  } catch (const zmq::error_t& e) {
    return fail(ExitCode::kUnreachable,
                fmt::format("the peers of a socket cannot be watched: {}", e.what()));
  }
}

Peers::~Peers() { zmq_socket_monitor(socket_, nullptr, 0); }

int Peers::count() {
  for (;;) {
    zmq::message_t event, address;
    if (zmq_msg_recv(event.handle(), events_.handle(), ZMQ_DONTWAIT) < 0) {
      if (zmq_errno() == EINTR) continue;
      return count_;
    }
    if (!event.more() || event.size() < sizeof(std::uint16_t)) continue;
    while (zmq_msg_recv(address.handle(), events_.handle(), 0) < 0 && zmq_errno() == EINTR) {
    }
    std::uint16_t kind = 0;
    std::memcpy(&kind, event.data(), sizeof kind);
    // One I/O thread reports one connection's end in a row: a failed handshake, then disconnected.
    if ((kind & kFailures) != 0) {
      handshake_failed_ = true;
    } else if (kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      ++count_;
    } else if (kind == ZMQ_EVENT_DISCONNECTED) {
      if (!handshake_failed_ && count_ > 0) --count_;
      handshake_failed_ = false;
    }
  }
}

}  // namespace packline

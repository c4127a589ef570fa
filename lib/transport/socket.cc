#include "lib/transport/socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/base/check.h"

namespace packline {
namespace {

constexpr std::size_t kCopyBelow = 1024;
constexpr std::string_view kIpcScheme = "ipc://";
constexpr int kReconnectMs = 50;
constexpr int kReconnectMaxMs = 1000;
constexpr int kConnectTimeoutMs = 2000;

// For a peer whose host is gone: the side that only reads would never learn of it.
constexpr int kKeepAliveIdleS = 10;
constexpr int kKeepAliveEveryS = 5;
constexpr int kKeepAliveTries = 3;

void set_options(zmq::socket_t& s, zmq::socket_type type, const SocketOptions& o) {
  s.set(zmq::sockopt::linger, 0);
  s.set(zmq::sockopt::sndhwm, o.send_mark);
  s.set(zmq::sockopt::rcvhwm, o.receive_mark);
  s.set(zmq::sockopt::maxmsgsize, o.frame_bytes_max);
  s.set(zmq::sockopt::tcp_maxrt, o.stall_ms);
  s.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
  s.set(zmq::sockopt::reconnect_ivl_max, kReconnectMaxMs);
  s.set(zmq::sockopt::connect_timeout, kConnectTimeoutMs);
  s.set(zmq::sockopt::tcp_keepalive, 1);
  s.set(zmq::sockopt::tcp_keepalive_idle, kKeepAliveIdleS);
  s.set(zmq::sockopt::tcp_keepalive_intvl, kKeepAliveEveryS);
  s.set(zmq::sockopt::tcp_keepalive_cnt, kKeepAliveTries);
  // No ZMTP heartbeats: a full receiver stops answering them and would be cut off.
  // Not for a socket that receives: libzmq then drops a dead peer's pipe at once, and aborts the
  // process when half of a message had been read (fq.cpp, !_more).
  if (type == zmq::socket_type::push) {
    s.set(zmq::sockopt::immediate, true);  // nothing queues for a peer that never came
  }
  if (type == zmq::socket_type::router) {
    s.set(zmq::sockopt::router_mandatory, true);  // else a message to nobody vanishes
    s.set(zmq::sockopt::router_handover, true);   // a peer that comes back is let in
  }
  if (type == zmq::socket_type::sub) s.set(zmq::sockopt::subscribe, "");
}

tl::unexpected<Error> cannot(std::string_view what, const std::string& address,
                             const zmq::error_t& e) {
  return fail(
      ExitCode::kUnreachable,
      fmt::format("{}: cannot {} it: {}; {}", address, what, e.what(),
                  e.num() == EADDRINUSE ? "end the process that holds it, or give another address"
                                        : "check the address in the job file's \"line\""));
}

// ZeroMQ hands a frame from our thread to its own, in a library that is built without TSan: what it
// does to order the two is told to TSan here.
#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
void handed_over(void* address) { __tsan_release(address); }
void taken_over(void* address) { __tsan_acquire(address); }
#else
void handed_over(void*) {}
void taken_over(void*) {}
#endif

void let_go(void*, void* hint) {
  taken_over(hint);
  delete static_cast<Buffer*>(hint);
}

void fill(zmq_msg_t& m, const Buffer& frame) {
  if (frame.size() < kCopyBelow) {
    PL_CHECK(zmq_msg_init_size(&m, frame.size()) == 0);
    if (!frame.empty()) std::memcpy(zmq_msg_data(&m), frame.data(), frame.size());
    return;
  }
  // ZeroMQ does not write to what it sends.
  void* data = const_cast<std::byte*>(frame.data());
  auto* kept = new Buffer(frame);
  handed_over(kept);
  PL_CHECK(zmq_msg_init_data(&m, data, frame.size(), let_go, kept) == 0);
}

// Returns 0, or the error number.
int send_part(void* socket, const Buffer& frame, bool more) {
  zmq_msg_t m;
  fill(m, frame);
  for (;;) {
    if (zmq_msg_send(&m, socket, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0) return 0;
    const int error = zmq_errno();
    if (error == EINTR) continue;
    zmq_msg_close(&m);
    return error;
  }
}

// Receives one part, or nothing when there is none.
std::shared_ptr<zmq::message_t> receive_part(void* socket) {
  auto part = std::make_shared<zmq::message_t>();
  while (zmq_msg_recv(part->handle(), socket, ZMQ_DONTWAIT) < 0) {
    if (zmq_errno() != EINTR) return nullptr;
  }
  return part;
}

// "10.0.0.7", or for ipc "localhost:uid:gid:pid"; of an ipc peer that is gone already, nothing.
std::string peer_of(zmq::message_t& part) {
  const char* address = zmq_msg_gets(part.handle(), "Peer-Address");
  const std::string_view text = address == nullptr ? "" : address;
  if (text.empty()) return "a peer that is gone";
  constexpr std::string_view kLocal = "localhost:";
  if (text.substr(0, kLocal.size()) != kLocal) return std::string(text);
  return fmt::format("process {}", text.substr(text.rfind(':') + 1));
}

}  // namespace

Status Context::lock(const std::string& path) {
  auto lock = IpcLock::take(path);
  if (!lock) return tl::unexpected(lock.error());
  locks_.push_back(std::move(*lock));
  return {};
}

Socket& Socket::operator=(Socket&& o) noexcept {
  peers_.reset();
  socket_ = std::move(o.socket_);
  peers_ = std::move(o.peers_);
  frames_max_ = o.frames_max_;
  router_ = o.router_;
  return *this;
}

Result<Socket> Socket::make(Context& c, zmq::socket_type type, Way way,
                            const std::vector<std::string>& addresses, const SocketOptions& o,
                            const std::string& routing_id) {
  std::string at;
  try {
    zmq::socket_t s(c.zmq(), type);
    set_options(s, type, o);
    if (!routing_id.empty()) s.set(zmq::sockopt::routing_id, routing_id);
    std::unique_ptr<Peers> peers;
    if (o.count_peers) {
      auto watched = Peers::watch(c, s.handle());
      if (!watched) return tl::unexpected(watched.error());
      peers = std::move(*watched);
    }
    for (const std::string& address : addresses) {
      at = address;
      if (address.find('[') != std::string::npos) s.set(zmq::sockopt::ipv6, true);
      if (way == Way::kConnect) {
        s.connect(address);
        continue;
      }
      if (address.compare(0, kIpcScheme.size(), kIpcScheme) == 0) {
        if (auto locked = c.lock(address.substr(kIpcScheme.size())); !locked)
          return tl::unexpected(locked.error());
      }
      s.bind(address);
    }
    return Socket(std::move(s), std::move(peers), o, type == zmq::socket_type::router);
  } catch (const zmq::error_t& e) {
    return cannot(way == Way::kBind ? "bind" : "connect to", at, e);
  }
}

Result<Socket> Socket::push_bind(Context& c, const std::string& address, const SocketOptions& o) {
  return make(c, zmq::socket_type::push, Way::kBind, {address}, o);
}
Result<Socket> Socket::pull_bind(Context& c, const std::string& address, const SocketOptions& o) {
  return make(c, zmq::socket_type::pull, Way::kBind, {address}, o);
}
Result<Socket> Socket::push_connect(Context& c, const std::string& address,
                                    const SocketOptions& o) {
  return make(c, zmq::socket_type::push, Way::kConnect, {address}, o);
}
Result<Socket> Socket::pull_connect(Context& c, const std::vector<std::string>& addresses,
                                    const SocketOptions& o) {
  return make(c, zmq::socket_type::pull, Way::kConnect, addresses, o);
}
Result<Socket> Socket::pub_bind(Context& c, const std::string& address, const SocketOptions& o) {
  return make(c, zmq::socket_type::pub, Way::kBind, {address}, o);
}
Result<Socket> Socket::sub_connect(Context& c, const std::vector<std::string>& addresses,
                                   const SocketOptions& o) {
  return make(c, zmq::socket_type::sub, Way::kConnect, addresses, o);
}
Result<Socket> Socket::router_bind(Context& c, const std::string& address, const SocketOptions& o) {
  return make(c, zmq::socket_type::router, Way::kBind, {address}, o);
}
Result<Socket> Socket::dealer_connect(Context& c, const std::string& address,
                                      const std::string& routing_id, const SocketOptions& o) {
  return make(c, zmq::socket_type::dealer, Way::kConnect, {address}, o, routing_id);
}

int Socket::peers() {
  PL_CHECK(peers_ != nullptr);
  return peers_->count();
}

void* Socket::peers_handle() const {
  PL_CHECK(peers_ != nullptr);
  return peers_->handle();
}

Sent Socket::send(const std::vector<Buffer>& frames) { return send_parts(nullptr, frames); }

Sent Socket::send_to(const std::string& routing_id, const std::vector<Buffer>& frames) {
  return send_parts(&routing_id, frames);
}

Sent Socket::send_parts(const std::string* routing_id, const std::vector<Buffer>& frames) {
  PL_CHECK(!frames.empty());
  PL_CHECK((routing_id != nullptr) == router_);
  bool first = true;
  bool lost = false;
  const auto part = [&](const Buffer& frame, bool more) {
    const int error = send_part(handle(), frame, more);
    if (error == 0) {
      first = false;
      return Sent::kSent;
    }
    PL_CHECK(error == EAGAIN || error == EHOSTUNREACH);
    return error == EAGAIN ? Sent::kWouldBlock : Sent::kUnreachable;
  };
  if (routing_id != nullptr) {
    const auto* bytes = reinterpret_cast<const std::byte*>(routing_id->data());
    const Sent sent = part(Buffer(nullptr, bytes, routing_id->size()), true);
    if (sent != Sent::kSent) return sent;
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Sent sent = part(frames[i], i + 1 < frames.size());
    if (sent == Sent::kSent) continue;
    if (first) return sent;
    // The peer went away within the message. ZeroMQ drops the rest of it, which must still be
    // given to it, or the next message would be taken for that rest.
    lost = true;
  }
  return lost ? Sent::kWouldBlock : Sent::kSent;
}

std::optional<Incoming> Socket::receive() {
  auto part = receive_part(handle());
  if (part == nullptr) return std::nullopt;
  Incoming in;
  bool too_long = false;
  in.peer = peer_of(*part);
  bool more = part->more();
  if (router_) {
    in.routing_id = part->to_string();
  } else {
    const auto* data = static_cast<const std::byte*>(part->data());
    const std::size_t size = part->size();
    in.frames.emplace_back(std::move(part), data, size);
  }
  while (more) {
    part = receive_part(handle());
    PL_CHECK(part != nullptr);  // a message arrives whole
    more = part->more();
    if (too_long || in.frames.size() == frames_max_) {
      too_long = true;
      in.frames.clear();
      continue;
    }
    const auto* data = static_cast<const std::byte*>(part->data());
    const std::size_t size = part->size();
    in.frames.emplace_back(std::move(part), data, size);
  }
  return in;
}

void Socket::set_linger(Duration d) {
  const auto ms = std::clamp<std::int64_t>(to_ms(d), 0, 1000);
  socket_.set(zmq::sockopt::linger, static_cast<int>(ms));
}

}  // namespace packline

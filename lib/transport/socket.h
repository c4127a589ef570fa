#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "lib/base/buffer.h"
#include "lib/base/instant.h"
#include "lib/transport/context.h"
#include "lib/transport/peers.h"

namespace packline {

struct SocketOptions {
  int send_mark = 2;  // messages queued for a peer before it counts as full; credit rules, not this
  int receive_mark = 2;
  // Of what is received:
  std::int64_t frame_bytes_max = std::int64_t{4} << 30;  // a peer that sends more is cut off
  std::size_t frames_max = 1u << 20;                     // of a message; a longer one is dropped
  // tcp: a peer that acknowledges nothing, or takes nothing, for this long is connected to anew,
  // and what was under way to it is lost. Short, so that a healed network is used at once; but a
  // receiver that is only busy must not be cut off.
  int stall_ms = 5000;
  bool count_peers = false;  // whether peers() will be asked

  // For messages that state everything and that their receiver reads at once.
  static SocketOptions state() { return {16, 16, 64 << 20, 16, 1000}; }
  // For who receives packs and sends states (the Python client sets the same).
  static SocketOptions packs() { return {256, 64, std::int64_t{4} << 30, 1u << 20, 1000}; }
  // For who sends packs and receives states. Packs are shared, so a queued one costs nothing.
  static SocketOptions subscribers() { return {256, 64, 64 << 20, 16, 5000}; }
  // For windows, which any packer may take: both ends tell how many are connected.
  static SocketOptions windows() {
    SocketOptions o;
    o.count_peers = true;
    return o;
  }
};

enum class Sent {
  kSent,         // queued, no more than that: a peer that dies takes it along
  kWouldBlock,   // no peer, or all are full; nothing was sent
  kUnreachable,  // ROUTER only: no peer has that routing id
};

// A message that arrived; the frames share its memory.
struct Incoming {
  std::string routing_id;      // ROUTER only: who sent it
  std::vector<Buffer> frames;  // none of a message of more than frames_max: they were dropped
  std::string peer;            // "10.0.0.7" (tcp) or "process 4711" (ipc), for sentences; may be ""
};

// A ZeroMQ socket with the options that this product needs. Neither call ever blocks; closing
// drops what is not yet written. Of one thread.
class Socket {
 public:
  static Result<Socket> push_bind(Context& c, const std::string& address,
                                  const SocketOptions& o = {});
  static Result<Socket> pull_bind(Context& c, const std::string& address,
                                  const SocketOptions& o = {});
  static Result<Socket> push_connect(Context& c, const std::string& address,
                                     const SocketOptions& o = {});
  // Connects to every address.
  static Result<Socket> pull_connect(Context& c, const std::vector<std::string>& addresses,
                                     const SocketOptions& o = {});
  static Result<Socket> pub_bind(Context& c, const std::string& address,
                                 const SocketOptions& o = SocketOptions::state());
  static Result<Socket> sub_connect(Context& c, const std::vector<std::string>& addresses,
                                    const SocketOptions& o = SocketOptions::state());
  static Result<Socket> router_bind(Context& c, const std::string& address,
                                    const SocketOptions& o = SocketOptions::subscribers());
  // `routing_id` must be unique to this life of the process and at most 255 bytes.
  static Result<Socket> dealer_connect(Context& c, const std::string& address,
                                       const std::string& routing_id,
                                       const SocketOptions& o = SocketOptions::packs());

  Socket(Socket&&) noexcept = default;
  Socket& operator=(Socket&& o) noexcept;
  ~Socket() = default;

  // Frames of 1 KiB and more are sent from where they are; their Buffer lives until they are
  // written.
  Sent send(const std::vector<Buffer>& frames);
  Sent send_to(const std::string& routing_id, const std::vector<Buffer>& frames);  // ROUTER
  std::optional<Incoming> receive();

  // Peers whose handshake succeeded and who are still connected. Of a socket with count_peers.
  int peers();

  // As bound or connected last, with the port that the system chose.
  std::string address() const { return socket_.get(zmq::sockopt::last_endpoint); }
  void* handle() const { return const_cast<zmq::socket_t&>(socket_).handle(); }
  void* peers_handle() const;

  // How long a later close may go on writing what is queued; 0 at first. At most a second.
  void set_linger(Duration d);

 private:
  enum class Way { kBind, kConnect };
  static Result<Socket> make(Context& c, zmq::socket_type type, Way way,
                             const std::vector<std::string>& addresses, const SocketOptions& o,
                             const std::string& routing_id = {});
  Socket(zmq::socket_t socket, std::unique_ptr<Peers> peers, const SocketOptions& o, bool router)
      : socket_(std::move(socket)),
        peers_(std::move(peers)),
        frames_max_(o.frames_max),
        router_(router) {}

  Sent send_parts(const std::string* routing_id, const std::vector<Buffer>& frames);

  zmq::socket_t socket_;
  std::unique_ptr<Peers> peers_;  // with count_peers; destroyed before the socket it watches
  std::size_t frames_max_;
  bool router_;
};

}  // namespace packline

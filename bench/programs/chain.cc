// The yardstick of the row `megatron`: libzmq alone, three hops in four processes (the last one is
// Python's, bench/peers/chain.py), with the sizes of messages that the line has and one copy a hop.
//
//   bench_chain windows OUT FILE WINDOW_BYTES   the file's bytes, a message a window
//   bench_chain slices IN OUT PACK_BYTES        each window as one message of a frame a pack
//   bench_chain packs IN OUT                    each frame as a message of its own
//
// `windows` says "ready" once its file is in memory, and sends after a line on stdin. An empty
// message is the end.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>
#include <vector>
#include <zmq.hpp>

namespace {

constexpr int kQueued = 4;        // windows and slices, at each end
constexpr int kQueuedPacks = 64;  // packs, at each end

struct Socket {
  Socket(zmq::context_t& context, zmq::socket_type type, int queued) : zmq(context, type) {
    zmq.set(zmq::sockopt::sndhwm, queued);
    zmq.set(zmq::sockopt::rcvhwm, queued);
    zmq.set(zmq::sockopt::linger, -1);
  }
  zmq::socket_t zmq;
};

void send(Socket& out, const void* bytes, std::size_t size, bool more = false) {
  zmq::message_t message(bytes, size);  // the copy of this hop
  if (!out.zmq.send(message, more ? zmq::send_flags::sndmore : zmq::send_flags::none)) std::exit(3);
}

void windows(zmq::context_t& context, char** argv) {
  Socket out(context, zmq::socket_type::push, kQueued);
  out.zmq.bind(argv[2]);
  std::ifstream file(argv[3], std::ios::binary | std::ios::ate);
  std::vector<char> bytes(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const std::size_t window = std::strtoull(argv[4], nullptr, 10);
  std::puts("ready");
  std::fflush(stdout);
  if (std::getchar() == EOF) return;
  for (std::size_t at = 0; at < bytes.size(); at += window)
    send(out, bytes.data() + at, std::min(window, bytes.size() - at));
  send(out, nullptr, 0);
}

void slices(zmq::context_t& context, char** argv) {
  Socket in(context, zmq::socket_type::pull, kQueued);
  Socket out(context, zmq::socket_type::push, kQueued);
  in.zmq.connect(argv[2]);
  out.zmq.bind(argv[3]);
  const std::size_t pack = std::strtoull(argv[4], nullptr, 10);
  for (zmq::message_t message; in.zmq.recv(message);) {
    const char* bytes = message.data<char>();
    for (std::size_t at = 0; at < message.size(); at += pack)
      send(out, bytes + at, std::min(pack, message.size() - at), at + pack < message.size());
    if (message.empty()) {
      send(out, nullptr, 0);
      return;
    }
  }
}

void packs(zmq::context_t& context, char** argv) {
  Socket in(context, zmq::socket_type::pull, kQueued);
  Socket out(context, zmq::socket_type::push, kQueuedPacks);
  in.zmq.connect(argv[2]);
  out.zmq.bind(argv[3]);
  for (zmq::message_t message; in.zmq.recv(message);) {
    send(out, message.data(), message.size());
    if (message.empty()) return;
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string what = argc > 1 ? argv[1] : "";
  zmq::context_t context;
  if (what == "windows" && argc == 5) {
    windows(context, argv);
  } else if (what == "slices" && argc == 5) {
    slices(context, argv);
  } else if (what == "packs" && argc == 4) {
    packs(context, argv);
  } else {
    std::fputs("usage: see the head of bench/programs/chain.cc\n", stderr);
    return 2;
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "bench_chain: %s\n", e.what());
  return 3;
}

#include "lib/transport/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/unit/transport/fixture.h"

namespace packline {
namespace {

constexpr const char* kAnyPort = "tcp://127.0.0.1:*";

TEST_CASE("Socket: frames of every size arrive as they were, over tcp and over ipc") {
  Folder folder;
  for (const std::string& address : {std::string(kAnyPort), folder.ipc("p.0")}) {
    Context context;
    Socket push = got(Socket::push_bind(context, address));
    Socket pull = got(Socket::pull_connect(context, {push.address()}));
    const std::vector<std::string> texts = {"", "x", std::string(1023, 'a'), std::string(1024, 'b'),
                                            std::string(3 << 20, 'c')};
    std::vector<Buffer> frames;
    for (const std::string& t : texts) frames.push_back(buffer_of(t));
    send_through(push, frames);
    const Incoming in = receive_from(pull);
    REQUIRE(in.frames.size() == texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) CHECK(text_of(in.frames[i]) == texts[i]);
    const bool tcp = address == kAnyPort;
    CHECK(in.peer == (tcp ? "127.0.0.1" : "process " + std::to_string(::getpid())));
  }
}

TEST_CASE("Socket: a large frame is sent from where it is, and lives until it is written") {
  Context context;
  Socket push = got(Socket::push_bind(context, kAnyPort));
  Socket pull = got(Socket::pull_connect(context, {push.address()}));
  auto bytes = std::make_shared<std::string>(8 << 20, 'z');
  const std::weak_ptr<std::string> alive = bytes;
  const auto* data = reinterpret_cast<const std::byte*>(bytes->data());
  send_through(push, {Buffer(bytes, data, bytes->size())});
  bytes.reset();  // only what is under way holds it now
  const Incoming in = receive_from(pull);
  CHECK(text_of(in.frames.at(0)) == std::string(8 << 20, 'z'));
  // Whoever wrote it lets go of it at the latest when it is closed.
  {
    Socket closed = std::move(push);
  }
  {
    Socket closed = std::move(pull);
  }
  context.zmq().close();
  CHECK(alive.expired());
}

TEST_CASE("Socket: what is received outlives the socket") {
  Buffer kept;
  {
    Context context;
    Socket push = got(Socket::push_bind(context, kAnyPort));
    Socket pull = got(Socket::pull_connect(context, {push.address()}));
    send_through(push, {buffer_of(std::string(100000, 'k'))});
    kept = receive_from(pull).frames.at(0).part(10, 99000);
  }
  CHECK(text_of(kept) == std::string(99000, 'k'));
}

TEST_CASE("Socket: without a peer, and at the mark, sending says that it would block") {
  Context context;
  Socket push = got(Socket::push_bind(context, kAnyPort));
  const std::vector<Buffer> large = {buffer_of(std::string(1 << 20, 'm'))};
  CHECK(push.send(large) == Sent::kWouldBlock);
  Socket pull = got(Socket::pull_connect(context, {push.address()}));
  // Nobody reads: the marks and the kernel's buffers fill up, then it stops.
  send_through(push, large);
  Loop loop;
  const auto id = loop.watch(push);
  loop.wake_when_readable(id, false);
  loop.wake_when_writable(id, true);
  int queued = 1;
  while (loop.wait(now() + std::chrono::milliseconds(300))) {
    while (push.send(large) == Sent::kSent) ++queued;
    REQUIRE(queued < 100);
  }
  CHECK(push.send(large) == Sent::kWouldBlock);
  for (int i = 0; i < queued; ++i) CHECK(receive_from(pull).frames.at(0).size() == 1 << 20);
}

TEST_CASE("Socket: a connecting PUSH queues nothing for a peer that never came") {
  Folder folder;
  Context context;
  Socket push = got(Socket::push_connect(context, folder.ipc("nobody")));
  CHECK(push.send({buffer_of("x")}) == Sent::kWouldBlock);
}

TEST_CASE("Socket: a message of too many frames is dropped whole, and the next one is whole") {
  Context context;
  SocketOptions o;
  o.frames_max = 3;
  Socket pull = got(Socket::pull_bind(context, kAnyPort, o));
  Socket push = got(Socket::push_connect(context, pull.address()));
  const Buffer x = buffer_of("x");
  send_through(push, {x, x, x, x, x});
  send_through(push, {buffer_of("1"), buffer_of("2"), buffer_of("3")});
  const Incoming dropped = receive_from(pull);
  CHECK(dropped.frames.empty());
  const Incoming next = receive_from(pull);
  CHECK(next.frames.size() == 3);
  CHECK(text_of(next.frames[2]) == "3");
}

TEST_CASE("Socket: a peer that sends a frame over the limit is cut off") {
  Context context;
  SocketOptions o;
  o.frame_bytes_max = 1000;
  Socket pull = got(Socket::pull_bind(context, kAnyPort, o));
  Socket bad = got(Socket::push_connect(context, pull.address()));
  send_through(bad, {buffer_of(std::string(1001, 'x'))});
  Socket good = got(Socket::push_connect(context, pull.address()));
  send_through(good, {buffer_of(std::string(1000, 'y'))});
  CHECK(text_of(receive_from(pull).frames.at(0)) == std::string(1000, 'y'));
}

TEST_CASE("Socket: a ROUTER knows who sent, answers, and says when nobody is there") {
  Context context;
  Socket router = got(Socket::router_bind(context, kAnyPort));
  CHECK(router.send_to("3.0.aa", {buffer_of("x")}) == Sent::kUnreachable);
  Socket dealer = got(Socket::dealer_connect(context, router.address(), "3.0.aa"));
  send_through(dealer, {buffer_of("want"), buffer_of("more")});
  const Incoming in = receive_from(router);
  CHECK(in.routing_id == "3.0.aa");
  REQUIRE(in.frames.size() == 2);
  CHECK(text_of(in.frames[0]) == "want");
  CHECK(router.send_to("3.0.aa", {buffer_of("pack"), buffer_of(std::string(5000, 'p'))}) ==
        Sent::kSent);
  const Incoming answer = receive_from(dealer);
  REQUIRE(answer.frames.size() == 2);
  CHECK(text_of(answer.frames[0]) == "pack");
  CHECK(answer.frames[1].size() == 5000);
}

// A subscribe is one frame; whoever can reach the port must not fill this process's memory.
TEST_CASE("Socket: what subscribers send is bounded as states are, what they get is not") {
  Context context;
  Socket router = got(Socket::router_bind(context, kAnyPort));
  Socket dealer = got(Socket::dealer_connect(context, router.address(), "3.0.aa"));
  send_through(dealer, std::vector<Buffer>(17, buffer_of("x")));
  CHECK(receive_from(router).frames.empty());
  const std::vector<Buffer> pack(1000, buffer_of("p"));
  CHECK(router.send_to("3.0.aa", pack) == Sent::kSent);
  CHECK(receive_from(dealer).frames.size() == 1000);
  send_through(dealer, {buffer_of(std::string((64 << 20) + 1, 'x'))});  // is cut off
  Socket other = got(Socket::dealer_connect(context, router.address(), "4.0.bb"));
  send_through(other, {buffer_of(std::string(64 << 20, 'y'))});
  CHECK(receive_from(router).routing_id == "4.0.bb");
}

TEST_CASE("Socket: a rank that comes back under its id is let in at once") {
  Context context;
  Socket router = got(Socket::router_bind(context, kAnyPort));
  Socket first = got(Socket::dealer_connect(context, router.address(), "rank"));
  send_through(first, {buffer_of("1")});
  CHECK(text_of(receive_from(router).frames.at(0)) == "1");
  Context elsewhere;
  Socket second = got(Socket::dealer_connect(elsewhere, router.address(), "rank"));
  send_through(second, {buffer_of("2")});
  CHECK(text_of(receive_from(router).frames.at(0)) == "2");
  CHECK(router.send_to("rank", {buffer_of("answer")}) == Sent::kSent);
  CHECK(text_of(receive_from(second).frames.at(0)) == "answer");
}

TEST_CASE("Socket: notices reach every subscriber") {
  Context context;
  Socket pub = got(Socket::pub_bind(context, kAnyPort));
  Socket a = got(Socket::sub_connect(context, {pub.address()}));
  Socket b = got(Socket::sub_connect(context, {pub.address()}));
  const Instant end = now() + kPatience;
  bool heard_a = false, heard_b = false;
  Loop loop;
  loop.watch(a);
  loop.watch(b);
  while (!(heard_a && heard_b)) {  // a notice before the subscription arrived goes nowhere
    REQUIRE(now() < end);
    CHECK(pub.send({buffer_of("notice")}) == Sent::kSent);
    loop.wait(now() + std::chrono::milliseconds(20));
    while (a.receive()) heard_a = true;
    while (b.receive()) heard_b = true;
  }
}

TEST_CASE("Socket: the peers that are connected are counted, those who talk nonsense are not") {
  Context context;
  Socket pull = got(Socket::pull_bind(context, kAnyPort, SocketOptions::windows()));
  CHECK(pull.peers() == 0);
  auto one = std::make_unique<Socket>(got(Socket::push_connect(context, pull.address())));
  auto two = std::make_unique<Socket>(got(Socket::push_connect(context, pull.address())));
  await_peers(pull, 2);

  const std::string address = pull.address();
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  Fd stranger(::socket(AF_INET, SOCK_STREAM, 0));
  REQUIRE(::connect(stranger.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  const std::string nonsense = "\xff" + std::string(200, '\x7f');
  REQUIRE(::send(stranger.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL) > 0);
  char byte = 0;
  ssize_t n = 0;
  while ((n = ::recv(stranger.get(), &byte, 1, 0)) > 0) {
  }
  CHECK(n <= 0);  // cut off

  two.reset();
  await_peers(pull, 1);
  one.reset();
  await_peers(pull, 0);
}

TEST_CASE("Socket: an address that is in use, or is none, is refused with a sentence") {
  Context context;
  Socket pull = got(Socket::pull_bind(context, kAnyPort));
  const auto again = Socket::pull_bind(context, pull.address());
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().code == ExitCode::kUnreachable);
  CHECK(again.error().text.find(pull.address()) == 0);
  CHECK_FALSE(Socket::push_connect(context, "nonsense").has_value());
}

}  // namespace
}  // namespace packline

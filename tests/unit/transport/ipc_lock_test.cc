#include "lib/transport/ipc_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>

#include "tests/unit/transport/fixture.h"

namespace packline {
namespace {

// The socket file that a process leaves when it is killed.
void leave_socket(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::strncpy(a.sun_path, path.c_str(), sizeof a.sun_path - 1);
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0);
}

TEST_CASE("IpcLock: a second holder is refused and the first one's process named") {
  Folder folder;
  const auto first = IpcLock::take(folder.file("s"));
  REQUIRE(first.has_value());
  const auto second = IpcLock::take(folder.file("s"));
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == ExitCode::kUnreachable);
  CHECK(second.error().text.find("held by process " + std::to_string(::getpid())) !=
        std::string::npos);
}

TEST_CASE("IpcLock: a lock that another open file holds refuses, and its end frees the path") {
  Folder folder;
  {
    Fd other(::open(folder.file("s.lock").c_str(), O_CREAT | O_RDWR, 0600));
    REQUIRE(::write(other.get(), "4711", 4) == 4);
    REQUIRE(::flock(other.get(), LOCK_EX) == 0);
    const auto refused = IpcLock::take(folder.file("s"));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().text.find("process 4711") != std::string::npos);
  }
  CHECK(IpcLock::take(folder.file("s")).has_value());
}

TEST_CASE("IpcLock: a dead process' socket file is removed, another file is not") {
  Folder folder;
  leave_socket(folder.file("s"));
  CHECK(IpcLock::take(folder.file("s")).has_value());
  CHECK_FALSE(std::filesystem::exists(folder.file("s")));
  std::ofstream(folder.file("t")) << "mine";
  CHECK_FALSE(IpcLock::take(folder.file("t")).has_value());
  CHECK(std::filesystem::exists(folder.file("t")));
}

TEST_CASE("IpcLock: nothing is left behind, also by a refusal") {
  Folder folder;
  {
    const auto lock = IpcLock::take(folder.file("s"));
    REQUIRE(lock.has_value());
    CHECK(std::filesystem::exists(folder.file("s.lock")));
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("s.lock")));
  const auto nowhere = IpcLock::take(folder.file("no/such/folder"));
  REQUIRE_FALSE(nowhere.has_value());
  CHECK(nowhere.error().text.find("lock file") != std::string::npos);
}

TEST_CASE("Context: an ipc path is bound once, and again when its owner is gone") {
  Folder folder;
  const std::string address = folder.ipc("p.0");
  {
    Context owner;
    Socket pull = got(Socket::pull_bind(owner, address));
    Context thief;
    const auto stolen = Socket::pull_bind(thief, address);
    REQUIRE_FALSE(stolen.has_value());
    CHECK(stolen.error().text.find("held by process") != std::string::npos);
    Socket push = got(Socket::push_connect(thief, address));
    send_through(push, {buffer_of("still mine")});
    CHECK(text_of(receive_from(pull).frames.at(0)) == "still mine");
  }
  CHECK_FALSE(std::filesystem::exists(folder.file("p.0")));
  Context heir;
  Socket pull = got(Socket::pull_bind(heir, address));
  Socket push = got(Socket::push_connect(heir, address));
  send_through(push, {buffer_of("now mine")});
  CHECK(text_of(receive_from(pull).frames.at(0)) == "now mine");
}

}  // namespace
}  // namespace packline

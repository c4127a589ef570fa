#include "launcher/children.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "lib/app/process.h"

namespace packline {
namespace {

// All that is written to `fd` until its other end is closed everywhere; waits 20 s at most.
std::string read_all(int fd) {
  std::string out;
  char buffer[256];
  pollfd p{fd, POLLIN, 0};
  while (::poll(&p, 1, 20000) == 1) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n <= 0) return out;
    out.append(buffer, static_cast<std::size_t>(n));
  }
  FAIL("the other end is still open");
  return out;
}

// What a child that runs `script` writes when the process that started it dies of kill -9. The pipe
// ends with the child.
std::string outcome_when_the_starter_dies(int death_signal) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t starter = ::fork();
  REQUIRE(starter >= 0);
  if (starter == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    Children children;
    children.start({.name = "child",
                    .argv = {"bash", "-c",
                             "trap 'echo asked; exit' TERM; echo ready; kill -9 $PPID; "
                             "while true; do sleep 0.05; done"},
                    .death_signal = death_signal});
    for (;;) ::pause();
  }
  ::close(ends[1]);
  int status = 0;
  REQUIRE(::waitpid(starter, &status, 0) == starter);
  CHECK(WIFSIGNALED(status));
  const std::string said = read_all(ends[0]);
  ::close(ends[0]);
  return said;
}

TEST_CASE("Children: what a dead launcher leaves gets its death signal") {
  CHECK(outcome_when_the_starter_dies(SIGKILL) == "ready\n");
  CHECK(outcome_when_the_starter_dies(SIGTERM) == "ready\nasked\n");
}

TEST_CASE("Children: one that ends is told once, with its code or its signal") {
  Children children;
  REQUIRE(children.start({.name = "seven", .argv = {"bash", "-c", "exit 7"}}));
  const Result<pid_t> killed = children.start({.name = "killed", .argv = {"sleep", "600"}});
  REQUIRE(killed);
  CHECK(children.running("killed"));
  children.signal("killed", SIGKILL);
  std::vector<ChildExit> ended;
  for (int i = 0; i < 2000 && ended.size() < 2; ++i) {
    for (const ChildExit& e : children.reap()) ended.push_back(e);
    ::poll(nullptr, 0, 10);
  }
  REQUIRE(ended.size() == 2);
  if (ended[0].name == "killed") std::swap(ended[0], ended[1]);
  CHECK(ended[0].name == "seven");
  CHECK(describe(ended[0]) == "exit code 7");
  CHECK(ended[1].pid == *killed);
  CHECK(describe(ended[1]) == "signal 9 (Killed)");
  CHECK(children.running_count() == 0);
  CHECK(children.reap().empty());
}

TEST_CASE("Children: signals that are blocked here act there") {
  const Signals signals;
  Children children;
  REQUIRE(children.start({.name = "sleeper", .argv = {"sleep", "600"}}));
  children.signal_all(SIGTERM);
  std::vector<ChildExit> ended;
  for (int i = 0; i < 2000 && ended.empty(); ++i) {
    ended = children.reap();
    ::poll(nullptr, 0, 10);
  }
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].signal == SIGTERM);
}

TEST_CASE("Children: a command that cannot be run is named") {
  Children children;
  const Result<pid_t> pid = children.start({.name = "command", .argv = {"/nonexistent/x"}});
  REQUIRE(!pid);
  CHECK(pid.error().code == ExitCode::kWrongJob);
  CHECK(pid.error().text == "command: cannot run '/nonexistent/x': No such file or directory");
  CHECK(children.running_count() == 0);
}

}  // namespace
}  // namespace packline

#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/base/result.h"

namespace packline {

// How to start one process.
struct ChildSpec {
  std::string name = {};               // "producer-0"; the command is "command"
  std::vector<std::string> argv = {};  // argv[0] is looked up in PATH unless it has a slash
  std::vector<std::pair<std::string, std::string>> env = {};  // added to ours
  // Out of the terminal's foreground group: Ctrl-C is the launcher's to pass on.
  bool own_group = true;
  int death_signal = SIGKILL;  // what it gets when this process dies
};

// One process that ended.
struct ChildExit {
  std::string name;
  pid_t pid = 0;
  int code = 0;    // exit status, when signal is 0
  int signal = 0;  // the signal that ended it
};

// The processes this one started. The system sends each its death_signal when this process dies
// (PR_SET_PDEATHSIG), so that not even kill -9 leaves one behind. Single-threaded: start() must be
// called from the main thread, because a parent-death signal follows the thread that forked.
class Children {
 public:
  ~Children();

  // Starts it; an error when it cannot be executed.
  Result<pid_t> start(const ChildSpec& spec);
  // Those that ended since the last call; never waits.
  std::vector<ChildExit> reap();
  void signal(const std::string& name, int sig);
  void signal_all(int sig);
  bool running(const std::string& name) const { return pid_of(name) != 0; }
  std::size_t running_count() const { return running_.size(); }
  pid_t pid_of(const std::string& name) const;  // 0 when it does not run

 private:
  std::vector<std::pair<std::string, pid_t>> running_;
};

// "exit code 3" or "signal 9 (Killed)".
std::string describe(const ChildExit& e);

}  // namespace packline

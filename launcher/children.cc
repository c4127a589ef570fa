#include "launcher/children.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/app/process.h"

namespace packline {
namespace {

// Between fork and exec: only calls that are safe there. Tells the parent errno through `fd`.
[[noreturn]] void become(const ChildSpec& spec, char* const* argv, char* const* envp, int fd,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, spec.death_signal);
  if (getppid() != parent) _exit(0);  // the parent died before the line above took effect
  if (spec.own_group) setpgid(0, 0);
  Signals::restore_defaults();
  execvpe(argv[0], argv, envp);
  const int e = errno;
  (void)!write(fd, &e, sizeof(e));
  _exit(127);
}

std::vector<std::string> environment(const ChildSpec& spec) {
  std::vector<std::string> out;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view have = *e;
    const bool replaced = std::any_of(spec.env.begin(), spec.env.end(), [&](const auto& kv) {
      return have.size() > kv.first.size() && have.starts_with(kv.first) &&
             have[kv.first.size()] == '=';
    });
    if (!replaced) out.emplace_back(have);
  }
  for (const auto& [k, v] : spec.env) out.push_back(k + "=" + v);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Children::~Children() { signal_all(SIGKILL); }

Result<pid_t> Children::start(const ChildSpec& spec) {
  std::vector<std::string> args = spec.argv;
  std::vector<std::string> env = environment(spec);
  const std::vector<char*> argv = pointers(args);
  const std::vector<char*> envp = pointers(env);
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return fail(ExitCode::kUnreachable,
                fmt::format("no pipe for {}: {}", spec.name, strerror(errno)));
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(spec, argv.data(), envp.data(), fds[1], parent);
  close(fds[1]);
  int failed = pid < 0 ? errno : 0;
  if (pid > 0) {
    ssize_t n;
    do n = read(fds[0], &failed, sizeof(failed));
    while (n < 0 && errno == EINTR);
    if (n > 0) waitpid(pid, nullptr, 0);
  }
  close(fds[0]);
  if (failed != 0) {
    return fail(ExitCode::kWrongJob,
                fmt::format("{}: cannot run '{}': {}", spec.name, spec.argv[0], strerror(failed)));
  }
  running_.emplace_back(spec.name, pid);
  return pid;
}

std::vector<ChildExit> Children::reap() {
  std::vector<ChildExit> out;
  std::erase_if(running_, [&](const auto& child) {
    int status = 0;
    if (waitpid(child.second, &status, WNOHANG) != child.second) return false;
    ChildExit e{child.first, child.second, 0, 0};
    if (WIFSIGNALED(status)) e.signal = WTERMSIG(status);
    if (WIFEXITED(status)) e.code = WEXITSTATUS(status);
    out.push_back(e);
    return true;
  });
  return out;
}

pid_t Children::pid_of(const std::string& name) const {
  for (const auto& [n, pid] : running_) {
    if (n == name) return pid;
  }
  return 0;
}

void Children::signal(const std::string& name, int sig) {
  if (const pid_t pid = pid_of(name)) kill(pid, sig);
}

void Children::signal_all(int sig) {
  for (const auto& child : running_) kill(child.second, sig);
}

std::string describe(const ChildExit& e) {
  if (e.signal != 0) return fmt::format("signal {} ({})", e.signal, strsignal(e.signal));
  return fmt::format("exit code {}", e.code);
}

}  // namespace packline

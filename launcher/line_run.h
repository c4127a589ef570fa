#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/children.h"
#include "launcher/commands.h"
#include "launcher/run_folder.h"
#include "launcher/summary.h"
#include "lib/config/job.h"

namespace packline {

// A whole line on this host: starts every role as a process, starts again what dies, serves the
// command or null trainers, and stops in order. One thread; turn() is called until it says how the
// line ended. The roles of the eval split and encoder processes are looked after likewise, but
// nothing waits for them: they end when all else has.
//
// States: RUNNING; STOPPING (the outcome is known, SIGTERM was sent, and after kPatience SIGKILL);
// ENDED (no child is left).
class LineRun {
 public:
  // `line`: what line.json says; the addresses in it are those that the roles are given.
  LineRun(const Job& job, const RunCommand& command, const LineFile& line, const RunFolder& folder);

  Status start();
  // One turn: reaps, starts again, escalates. Returns the exit code once every child has ended.
  std::optional<int> turn();
  void stop(int code, int signal_for_command);
  void stop_now();  // without patience: SIGKILL to all that is left
  void fail_line(int code, const std::string& why);  // the first failure counts

  // What the sinks last wrote down; of the training alone, where the line evaluates beside it.
  std::vector<RankProgress> progress() const { return progress_of(""); }
  const std::map<std::string, std::uint64_t>& restarts() const { return restarts_; }
  const std::string& reason() const { return reason_; }  // why it failed; "" when it did not
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  ChildSpec trainer_spec(std::uint32_t dp_rank, std::uint32_t peer) const;
  void on_exit(const ChildExit& e);
  void on_command_exit(const ChildExit& e);
  void start_again(const ChildExit& e);
  void escalate();
  void end_what_only_serves();
  std::vector<RankProgress> progress_of(std::string_view prefix) const;
  std::uint64_t packs_handed_out(const std::string& name) const;
  bool all_done() const;

  const Job& job_;
  const RunCommand& command_;
  const LineFile& line_;
  const RunFolder& folder_;
  Children children_;
  std::map<std::string, ChildSpec> specs_;
  std::map<std::string, std::uint64_t> restarts_;  // by role
  struct Deaths {
    int count = 0;            // without progress between them
    std::uint64_t packs = 0;  // of its split, handed out at the last one
  };
  std::map<std::string, Deaths> deaths_;
  std::optional<int> outcome_;
  std::optional<Clock::time_point> stop_at_;  // when SIGTERM is sent to what is still there
  std::optional<Clock::time_point> kill_at_;  // when SIGKILL is
  std::string reason_;
  Clock::time_point started_, ended_;
};

}  // namespace packline

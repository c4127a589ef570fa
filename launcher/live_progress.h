#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "launcher/role_documents.h"
#include "lib/config/job.h"

namespace packline {

// What the progress display knows at one time, summed over the roles of the training.
struct LineSample {
  double at_s = 0;  // since the start
  std::uint64_t windows_closed = 0, windows_held = 0, windows_room = 0;
  std::uint64_t slices_held = 0, slices_room = 0;
  std::uint64_t packs = 0, tokens = 0;            // handed out
  std::uint64_t records = 0, records_in_all = 0;  // passed; 0 in all = unknown
  std::uint64_t losses = 0;
  bool trainers_full = false;    // no rank has room for a pack: the trainer sets the pace
  bool trainers_absent = false;  // no rank has subscribed yet
};

LineSample sample_of(const Job& job, const std::vector<RoleDocument>& roles, double at_s);

// The stage that limits, from what is full and what is empty behind and before it: a line flows as
// fast as the first stage whose output is empty while its input is full.
std::string limiting_stage(const LineSample& s);

// One line for a person: windows, packs/s, tokens/s, fill, the queue of each stage, what limits,
// time left.
std::string progress_line(const Job& job, const LineSample& before, const LineSample& now);

// Shows the line's progress on stderr: one line that is rewritten on a terminal, else a line every
// 10 s.
class LiveProgress {
 public:
  LiveProgress(const Job& job, std::string run_folder);
  void update();  // call often; it decides when something is due
  void clear();   // before other text is printed

 private:
  using Clock = std::chrono::steady_clock;
  const Job& job_;
  std::string run_folder_;
  bool terminal_;
  Clock::time_point started_, shown_;
  LineSample before_;
};

}  // namespace packline

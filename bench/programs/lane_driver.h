#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/packing/closing.h"
#include "lib/packing/planner.h"
#include "lib/packing/settings.h"

namespace packline::bench {

// One lane whose samples' lengths lie in memory, closed window after window as the producer does
// it: carried samples first, then as many new ones as the closing wants to see.
class LaneDriver {
 public:
  LaneDriver(const PackSettings& settings, std::span<const std::uint32_t> lengths)
      : settings_(settings), planner_(settings), lengths_(lengths) {}

  // The next window; nothing is left behind the one that says `last`. lengths_of() speaks of it
  // until the next call.
  const Closing& next() {
    carry();
    fill();
    closing_ = close_window(settings_, planner_, 0, window_++, waiting_, at_end());
    return closing_;
  }
  std::uint32_t length_of(const Placed& p) const { return waiting_[p.candidate].tokens; }
  std::uint64_t consumed() const { return read_; }  // lengths looked at so far

 private:
  bool at_end() const { return read_ == lengths_.size(); }

  void fill() {
    Reach reach;
    while (!at_end() && wants_more(settings_, waiting_, reach))
      waiting_.push_back({lengths_[read_++]});
  }

  void carry() {
    gone_.assign(waiting_.size(), 0);
    for (const Placed& p : closing_.placed) gone_[p.candidate] = 1;
    for (const Placed& p : closing_.lost) gone_[p.candidate] = 1;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      if (gone_[i] != 0) continue;
      Candidate c = waiting_[i];
      if (i < closing_.considered || c.age > 0) ++c.age;
      waiting_[kept++] = c;
    }
    waiting_.resize(kept);
  }

  PackSettings settings_;
  Planner planner_;
  std::span<const std::uint32_t> lengths_;
  std::uint64_t read_ = 0, window_ = 0;
  std::vector<Candidate> waiting_;
  std::vector<std::uint8_t> gone_;
  Closing closing_;
};

}  // namespace packline::bench

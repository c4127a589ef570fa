#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/packing/closing.h"
#include "lib/packing/planner.h"

namespace packline::test {

// One window of a lane, its samples as indices into the lane's lengths.
struct LaneWindow {
  Closing closing;
  std::vector<std::uint32_t> samples;
};

struct LaneRun {
  std::vector<LaneWindow> windows;
  std::uint32_t age_max = 0;      // of any sample when it was taken
  std::uint64_t carried_max = 0;  // samples carried into a window
  std::uint64_t packs = 0;
};

// Closes windows until the lane's end, as the reading side does: carried samples first, then as
// many new ones as wants_more() asks for, and `more` beyond.
inline LaneRun run_lane(const PackSettings& settings, const std::vector<std::uint32_t>& lengths,
                        std::uint32_t more = 0) {
  struct Waiting {
    std::uint32_t sample, age;
  };
  LaneRun run;
  Planner planner(settings.capacity);
  std::vector<Waiting> waiting;  // carried, then read ahead
  std::uint32_t next = 0;
  for (bool last = false; !last;) {
    std::uint64_t carried = 0;
    std::vector<Candidate> candidates;
    for (const Waiting& w : waiting) {
      candidates.push_back({lengths[w.sample], w.age});
      carried += w.age > 0 ? 1 : 0;
    }
    std::uint32_t beyond = 0;
    while (next < lengths.size() && (wants_more(settings, candidates) || beyond++ < more)) {
      candidates.push_back({lengths[next], 0});
      waiting.push_back({next++, 0});
    }
    const bool at_end = next == lengths.size();

    LaneWindow window{close_window(settings, planner, candidates, at_end), {}};
    const std::vector<std::uint32_t>& taken = window.closing.taken;
    last = at_end && taken.size() == candidates.size();
    std::vector<Waiting> left;
    auto t = taken.begin();
    for (std::uint32_t i = 0; i < waiting.size(); ++i) {
      if (t != taken.end() && *t == i) {
        ++t;
        window.samples.push_back(waiting[i].sample);
        run.age_max = std::max(run.age_max, waiting[i].age);
        continue;
      }
      const bool carry = i < window.closing.considered || waiting[i].age > 0;
      left.push_back({waiting[i].sample, waiting[i].age + (carry ? 1 : 0)});
    }
    waiting = std::move(left);
    run.carried_max = std::max(run.carried_max, carried);
    run.packs += window.closing.packs;
    run.windows.push_back(std::move(window));
  }
  return run;
}

}  // namespace packline::test

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/base/random.h"
#include "lib/packing/closing.h"
#include "lib/packing/planner.h"

namespace packline::test {

using Lengths = std::vector<std::uint32_t>;

struct LaneSample {
  std::uint32_t tokens = 0;
  bool media = false;
};
using Lane = std::vector<LaneSample>;

inline Lane lane_of(const Lengths& lengths) {
  Lane lane;
  for (const auto length : lengths) lane.push_back({length, false});
  return lane;
}

// The packs of a closing, each with what stands in it; `candidate` may have been put into the
// lane's own numbers.
using Packs = std::vector<std::vector<Placed>>;

inline Packs packs_of(const Closing& closing) {
  Packs packs;
  auto next = closing.placed.begin();
  for (const std::uint32_t n : closing.packs) {
    packs.emplace_back(next, next + n);
    next += n;
  }
  return packs;
}

// Which candidates are taken, each once, ascending.
inline Lengths taken_by(const Closing& closing) {
  Lengths taken;
  for (const Placed& p : closing.placed) taken.push_back(p.candidate);
  std::sort(taken.begin(), taken.end());
  taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
  return taken;
}

// One window of a lane; `placed` and `lost` of its closing name samples of the lane.
struct LaneWindow {
  Closing closing;
  std::uint64_t carried = 0;  // samples carried into it
};

struct LaneRun {
  std::vector<LaneWindow> windows;
  std::uint32_t age_max = 0;      // of any sample when it was taken
  std::uint64_t carried_max = 0;  // samples carried into a window
  std::uint64_t packs = 0;
  bool ended = false;  // false: a window before the last one took nothing
};

struct Waiting {
  std::uint32_t sample = 0;
  Candidate candidate;
};

// What is left of `waiting` behind a window.
inline std::vector<Waiting> left_by(const Closing& closing, const std::vector<Waiting>& waiting) {
  std::vector<bool> gone(waiting.size());
  for (const Placed& p : closing.placed) gone[p.candidate] = true;
  for (const Placed& p : closing.lost) gone[p.candidate] = true;
  std::vector<Waiting> left;
  for (std::uint32_t i = 0; i < waiting.size(); ++i) {
    Waiting w = waiting[i];
    if (closing.cut > 0 && i == closing.considered) {
      w.candidate.begin = closing.cut;
    } else if (gone[i]) {
      continue;
    } else if (i < closing.considered || w.candidate.age > 0) {
      ++w.candidate.age;
    }
    left.push_back(w);
  }
  return left;
}

// Closes windows until the lane's end, as the reading side does: carried samples first, then as
// many new ones as wants_more() asks for, and `more` beyond.
inline LaneRun run_lane(const PackSettings& settings, const Lane& lane, std::uint32_t more = 0) {
  LaneRun run;
  Planner planner(settings);
  std::vector<Waiting> waiting;  // carried, then read ahead
  std::uint32_t next = 0;
  while (!run.ended) {
    std::vector<Candidate> candidates;
    LaneWindow window;
    for (const Waiting& w : waiting) {
      candidates.push_back(w.candidate);
      window.carried += w.candidate.age > 0 ? 1 : 0;
    }
    std::uint32_t beyond = 0;
    Reach reach;
    while (next < lane.size() && (wants_more(settings, candidates, reach) || beyond++ < more)) {
      candidates.push_back({lane[next].tokens, 0, 0, lane[next].media});
      waiting.push_back({next++, candidates.back()});
    }
    window.closing =
        close_window(settings, planner, 1, run.windows.size(), candidates, next == lane.size());
    const std::vector<Waiting> left = left_by(window.closing, waiting);
    for (auto* parts : {&window.closing.placed, &window.closing.lost}) {
      for (Placed& p : *parts) {
        run.age_max = std::max(run.age_max, waiting[p.candidate].candidate.age);
        p.candidate = waiting[p.candidate].sample;
      }
    }
    run.ended = window.closing.last;
    run.carried_max = std::max(run.carried_max, window.carried);
    run.packs += window.closing.packs.size();
    const bool stuck = window.closing.placed.empty();
    run.windows.push_back(std::move(window));
    waiting = left;
    if (stuck) break;
  }
  return run;
}

}  // namespace packline::test

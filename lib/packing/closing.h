#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/packing/planner.h"
#include "lib/packing/settings.h"

namespace packline {

// A sample that waits to be packed, in lane order: those carried from earlier windows first.
struct Candidate {
  std::uint32_t length = 0;  // 1..capacity
  std::uint32_t age = 0;     // how many windows it has been carried; 0 = new
};

// What a window takes of its candidates.
struct Closing {
  std::uint32_t packs = 0;           // packs_per_window, or fewer in a lane's last window
  std::uint32_t considered = 0;      // the candidates looked at: the first `considered`
  std::vector<std::uint32_t> taken;  // ascending; the other considered ones are carried
};

// How many tokens of candidates close_window() may need to see before the lane's end, at most: once
// their sum is above this it can be called.
std::uint64_t tokens_wanted(const PackSettings& settings);

// Whether close_window() needs to see more candidates unless the lane has ended: it looks at those
// of a window's tokens and lookahead_samples_max beyond, or of all its look-ahead's tokens.
bool wants_more(const PackSettings& settings, std::span<const Candidate> candidates);

// Closes one window; docs/stream.md section 5.2 is the exact definition. `at_end`: the candidates
// are all that the lane has left. With no candidate at the end: 0 packs. The result has fewer than
// packs_per_window packs only when at_end and every candidate is taken; the lane's last window is
// exactly the one that takes every candidate at_end. What stands behind the candidates that
// tokens_wanted() asks for changes nothing. As long as lookahead_packs <= packs_per_window no
// sample gets older than lookahead_windows_max; with a longer look-ahead more samples may come of
// age at once than a window can take.
Closing close_window(const PackSettings& settings, Planner& planner,
                     std::span<const Candidate> candidates, bool at_end);

}  // namespace packline

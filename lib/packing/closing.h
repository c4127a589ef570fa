#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/packing/planner.h"
#include "lib/packing/settings.h"

namespace packline {

// A sample that waits to be packed, in lane order: those carried from earlier windows first.
struct Candidate {
  std::uint32_t tokens = 0;  // above 0; at most the capacity, but for `wrapped`
  std::uint32_t age = 0;     // how many windows it has been carried; 0 = new
  std::uint32_t begin = 0;   // the tokens before this one went with earlier windows (`wrapped`)
  bool media = false;        // has a row in some ragged field
};

// The size it is placed with: its tokens, rounded up.
std::uint32_t size_of(const PackSettings& settings, const Candidate& c);

// A sample in a pack, or a part of it.
struct Placed {
  std::uint32_t candidate = 0;
  std::uint32_t begin = 0, end = 0;  // tokens
  std::uint32_t repetition = 0;      // above 0: not the sample itself, but its 1st, 2nd, ... copy
  bool operator==(const Placed&) const = default;
};

// What a window takes of its candidates. Those that are neither placed nor lost to their end, and
// were considered, are carried.
struct Closing {
  std::vector<std::uint32_t> packs;  // how many samples each has, in the order of delivery
  std::vector<Placed> placed;        // pack by pack
  std::vector<Placed> lost;          // remainder: drop
  std::uint32_t considered = 0;      // candidates looked at: the first `considered`
  std::uint32_t cut = 0;             // the tokens taken so far of the next one, if it is cut there
  bool last = false;                 // takes all that the lane has left
};

// How many tokens of candidates close_window() may need to see before the lane's end, as a rule:
// once their sum is above this it can be called. With max_samples fewer may do.
std::uint64_t tokens_wanted(const PackSettings& settings);

// How far a window's candidates have been looked at (section 5.2, step 1). A new one knows none.
struct Reach {
  std::uint32_t seen = 0;
  std::uint32_t beyond = 0;  // of these, behind the one that exceeds the window's tokens
  std::uint64_t tokens = 0;  // sizes
  bool enough = false;       // what follows those seen is of no matter
};

// Whether close_window() needs to see more candidates unless the lane has ended. `reach` is of the
// first of these candidates, and goes on from there: whoever asks after each sample that comes
// looks at each once, and not again and again at all of them.
bool wants_more(const PackSettings& settings, std::span<const Candidate> candidates, Reach& reach);
bool wants_more(const PackSettings& settings, std::span<const Candidate> candidates);

// Closes window number `window` of an epoch; docs/stream.md sections 5.2 to 5.4 are the exact
// definition. `at_end`: the candidates are all that the lane has left. With no candidate at the
// end: 0 packs. Every window but a lane's last has packs_per_window packs; what stands behind the
// candidates that wants_more() asks for changes nothing. As long as lookahead_packs <=
// packs_per_window no sample gets older than lookahead_windows_max; with a longer look-ahead more
// samples may come of age at once than a window can take.
Closing close_window(const PackSettings& settings, Planner& planner, std::uint64_t epoch,
                     std::uint64_t window, std::span<const Candidate> candidates, bool at_end);

}  // namespace packline

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/packing/bins.h"
#include "lib/packing/closing.h"

// Between the files of lib/packing: a window whose samples are chosen, before its packs are brought
// to a multiple and put in order.

namespace packline {

struct OpenWindow {
  Bins bins;  // of candidates, in the order of opening; empty for `wrapped`, which has `packs`
  std::vector<std::uint32_t> lost;                            // candidates
  std::vector<std::pair<std::uint32_t, std::uint32_t>> more;  // (bin, candidate): a repetition
  std::vector<std::uint32_t> again;                           // bins that are repeated at the end
  std::uint32_t considered = 0;
  bool last = false;
};

// The candidates' sizes, and which of them are media samples.
struct Candidates {
  std::span<const Candidate> all;
  std::vector<std::uint32_t> sizes;
};

// How far a window looks ahead.
struct LookAhead {
  std::uint32_t packs = 0;
  std::uint32_t samples = 0;
};

std::uint32_t rounded_up(std::uint32_t n, std::uint32_t multiple);

// Section 5.2, step 1: looks at further candidates until they are enough, or all are seen.
void look_on(const PackSettings& settings, LookAhead ahead, std::span<const Candidate> candidates,
             Reach& reach);

// Steps 1 and 2: the most first candidates for which `fits`, as far as they are looked at.
template <typename Fits>
std::uint32_t prefix_for(const PackSettings& settings, const Candidates& candidates,
                         LookAhead ahead, Fits fits) {
  Reach reach;
  look_on(settings, ahead, candidates.all, reach);
  const std::uint32_t cap = reach.seen;
  if (fits(cap)) return cap;
  std::uint32_t step = cap / 64 > 0 ? cap / 64 : 1;
  std::uint32_t hi = cap;
  std::uint32_t lo = 0;
  for (;;) {
    const std::uint32_t x = hi > step ? hi - step : 0;
    if (x == 0 || fits(x)) {
      lo = x;
      break;
    }
    hi = x;
    step *= 2;
  }
  while (hi - lo > 1) {
    const std::uint32_t mid = lo + (hi - lo) / 2;
    (fits(mid) ? lo : hi) = mid;
  }
  return lo;
}

// Step 4's order of preference of bins, of those with these samples.
struct BinState {
  std::uint64_t tokens = 0;  // sizes
  std::uint32_t samples = 0;
  std::uint32_t bin = 0;
  bool old = false;  // holds a sample that has waited long enough
  bool media = false;
};
std::vector<BinState> states_of(const PackSettings& settings, const Candidates& candidates,
                                const Plan& plan);
bool preferred(std::uint32_t capacity, const BinState& a, const BinState& b);

// same_kind: N bins of `bins`, media bins and others each a multiple; ascending bin numbers, or
// nothing when that cannot be had by exchange.
std::vector<std::uint32_t> choose_by_exchange(const PackSettings& settings,
                                              std::vector<BinState> bins);
OpenWindow close_by_kind(const PackSettings& settings, Planner& planner,
                         const Candidates& candidates, bool at_end);

// Section 5.3 for the bins of a last window.
void bring_to_multiple(const PackSettings& settings, const Candidates& candidates, OpenWindow& w);

}  // namespace packline

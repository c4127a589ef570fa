#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "lib/delivery/ledger.h"
#include "lib/delivery/place.h"
#include "lib/packing/settings.h"
#include "lib/wire/messages.h"
#include "tests/simulation/dice.h"

namespace packline::simulation {

// One pack of the reference stream: where it stands, and what its digest must be.
struct Expected {
  StreamPoint at;
  std::uint64_t digest = 0;
};

// A small random job, and the stream that it must give, computed without any delivery. Its windows
// are tiny but real: one sample of one token a pack, whose id names the place that it was read at,
// so a window made at a wrong place has other digests.
class Reference {
 public:
  explicit Reference(Dice& dice);

  JobShape shape(std::uint32_t dp_size) const;
  PackSettings pack_settings() const;

  // The window at a place: a function of the job and the place alone.
  const Window& window(std::uint32_t lane, const Place& place) const;

  // Whether reading in order ever stands at this place of the lane.
  bool on_the_way(std::uint32_t lane, const Place& place) const;

  const std::vector<Expected>& stream() const { return stream_; }
  // Per epoch: the packs of all ranks, and the ledger, which every rank must be told once.
  const std::map<std::uint64_t, Tally>& tallies() const { return tallies_; }
  std::uint64_t windows() const { return windows_; }

  std::uint32_t lanes = 1;
  std::uint64_t epochs = 1;
  std::uint32_t dp_size_multiple = 2;
  std::uint32_t packs_per_window = 2;

 private:
  Window make(std::uint32_t lane, const Place& place) const;
  void run();

  std::uint64_t salt_ = 0;
  std::vector<std::vector<std::uint64_t>> records_;  // [epoch][lane]
  std::vector<Expected> stream_;
  std::map<std::uint64_t, Tally> tallies_;
  std::uint64_t windows_ = 0;
  std::map<WindowKey, std::string> way_;
  mutable std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::string>, Window>
      made_;
};

}  // namespace packline::simulation

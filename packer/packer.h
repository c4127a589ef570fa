#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/instant.h"
#include "lib/base/result.h"
#include "lib/delivery/place.h"
#include "lib/delivery/role.h"
#include "lib/delivery/times.h"
#include "lib/packing/settings.h"
#include "lib/sample/samples.h"
#include "lib/wire/messages.h"

namespace packline {

struct PackerSettings {
  PackSettings pack;
  JobShape job;  // its dp_size is not looked at: a window names its own
  std::uint32_t producers = 1;
  DeliveryTimes times;
};

// One sink's part of a window. `slice` is whole but for the frames of its parts: the service makes
// slice.parts[i].frames = encode_samples(packs[i]). slice.parts and packs have the same size.
struct PackedSlice {
  std::string endpoint;
  Slice slice;
  std::vector<Samples> packs;
};

struct PackerCounters {
  std::uint64_t windows = 0;
  std::uint64_t packs = 0;   // made, over all slices
  std::uint64_t slices = 0;  // made
  std::uint64_t refused_other_job = 0;
  std::uint64_t refused_bad = 0;  // windows that do not pack as they claim
};

// The packer: a function from a window to slices, and the rule by which it ends. A window says
// which samples each pack has; here they become packs, with their digests, and slices. It holds
// nothing between windows, so it may die, stop or be doubled at any time. One thread at a time.
class Packer {
 public:
  Packer(PackerSettings settings, Instant now);

  // The slices for window.to: pack k goes to rank k % window.envelope.dp_size. A window of another
  // job, or one whose packs are not as they may be, is counted and is an
  // error whose sentence is for the log; the packer goes on.
  Result<std::vector<PackedSlice>> on_window(const Window& w, Instant now);

  void on_notice(const Notice& n, Instant now);

  // Ends when every producer has said finished (exit 0), or no producer was heard for fail_after.
  void tick(Instant now);

  const std::optional<Exit>& exit() const { return exit_; }
  std::vector<Wait> waits(Instant now) const;
  const PackerCounters& counters() const { return counters_; }

 private:
  Status check(const Window& w);

  PackerSettings settings_;
  std::map<std::uint32_t, Instant> heard_;  // producers, by their notices
  std::set<std::uint32_t> finished_;
  Instant started_;
  Instant heard_any_;
  Instant last_window_;
  std::optional<Exit> exit_;
  PackerCounters counters_;
};

}  // namespace packline

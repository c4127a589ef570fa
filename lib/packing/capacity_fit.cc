// Other capacities for the same lengths, of lib/packing/advice.h.

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "lib/base/check.h"
#include "lib/packing/advice.h"
#include "lib/packing/open_window.h"

namespace packline {
namespace {

// So many samples of a size, rounded up.
struct SizeCount {
  std::uint32_t size = 0;
  std::uint64_t samples = 0;
};

// Bins alike, as best fit keeps them by free room: the last that came to a room is the first that
// is used.
struct AlikeBins {
  std::uint32_t samples = 0;  // in each
  std::uint64_t bins = 0;
};

// Best fit decreasing over runs of equal sizes and of alike bins, as Planner does it over samples.
class RunsOfBestFit {
 public:
  explicit RunsOfBestFit(BinLimit limit) : limit_(limit) {}

  // Sizes must come largest first.
  void place(SizeCount run) {
    while (run.samples > 0) {
      const auto at = rooms_.lower_bound(run.size);
      const bool open = at == rooms_.end();
      const std::uint32_t room = open ? limit_.capacity : at->first;
      const AlikeBins from = open ? AlikeBins{0, UINT64_MAX} : at->second.back();
      std::uint32_t each = room / run.size;
      if (limit_.max_samples > 0) each = std::min(each, limit_.max_samples - from.samples);
      const std::uint64_t full = std::min(from.bins, run.samples / each);
      run.samples -= full * each;
      const bool rest = run.samples > 0 && full < from.bins;
      const std::uint64_t used = full + (rest ? 1 : 0);
      if (open) {
        opened_ += used;
      } else {
        take(at, used);
      }
      if (full > 0) put(room - each * run.size, {from.samples + each, full});
      if (rest) {
        const auto some = static_cast<std::uint32_t>(std::exchange(run.samples, 0));
        put(room - some * run.size, {from.samples + some, 1});
      }
    }
  }

  std::uint64_t opened() const { return opened_; }

 private:
  using Rooms = std::map<std::uint32_t, std::vector<AlikeBins>>;

  void take(Rooms::iterator at, std::uint64_t bins) {
    if ((at->second.back().bins -= bins) > 0) return;
    at->second.pop_back();
    if (at->second.empty()) rooms_.erase(at);
  }

  void put(std::uint32_t room, AlikeBins alike) {
    if (room == 0) return;
    if (limit_.max_samples == 0) {
      alike.samples = 0;
    } else if (alike.samples == limit_.max_samples) {
      return;
    }
    std::vector<AlikeBins>& there = rooms_[room];
    if (!there.empty() && there.back().samples == alike.samples) {
      there.back().bins += alike.bins;
    } else {
      there.push_back(alike);
    }
  }

  const BinLimit limit_;
  Rooms rooms_;
  std::uint64_t opened_ = 0;
};

std::uint64_t quotient_up(std::uint64_t n, std::uint64_t by) { return n / by + (n % by != 0); }

// Martello and Toth's L2: for each `least` up to half a capacity, the samples above half of it have
// a bin each; of those, the ones above capacity - least have no room for any sample >= least, the
// others may take some of the sizes from least to a half.
std::uint64_t bins_at_least(const std::vector<SizeCount>& ascending, std::uint32_t capacity) {
  std::uint64_t large = 0;  // samples above half
  std::uint64_t room = 0;   // beside those of them that are at most capacity - least
  std::uint64_t small = 0;  // the sizes from least to a half
  for (const SizeCount& s : ascending) {
    if (s.size > capacity / 2) {
      large += s.samples;
      room += s.samples * (capacity - s.size);
    } else {
      small += s.samples * s.size;
    }
  }
  const auto bound = [&] {
    return large + (small > room ? quotient_up(small - room, capacity) : 0);
  };
  std::uint64_t most = bound();
  std::size_t largest = ascending.size();
  for (const SizeCount& s : ascending) {
    if (s.size > capacity / 2) break;
    while (largest > 0 && ascending[largest - 1].size > capacity - s.size) {
      const SizeCount& alone = ascending[--largest];
      room -= alone.samples * (capacity - alone.size);
    }
    most = std::max(most, bound());
    small -= s.samples * s.size;
  }
  return most;
}

// The lengths as they would be packed at a capacity, by what the job does with over-long ones.
class SizesAt {
 public:
  SizesAt(const LengthCounts& lengths, const PackSettings& settings, CapacityFit& fit)
      : settings_(settings), fit_(fit) {
    for (const auto& [length, samples] : lengths.ascending()) {
      if (length == 0) continue;
      if (length <= fit.capacity) {
        add(length, samples);
      } else {
        add_over_long(length, samples);
      }
    }
  }

  std::vector<SizeCount> ascending() const {
    std::vector<SizeCount> all;
    all.reserve(sizes_.size());
    for (const auto& [size, samples] : sizes_) all.push_back({size, samples});
    return all;
  }

 private:
  void add(std::uint32_t tokens, std::uint64_t samples) {
    sizes_[rounded_up(tokens, settings_.sample_multiple_of)] += samples;
    fit_.samples += samples;
    fit_.tokens += samples * tokens;
  }

  void add_over_long(std::uint32_t length, std::uint64_t samples) {
    fit_.over_long_samples += samples;
    switch (settings_.over_long) {
      case OverLong::kDrop:
      case OverLong::kError:
        fit_.tokens_gone += samples * length;
        break;
      case OverLong::kTruncateLeft:
      case OverLong::kTruncateRight:
        add(fit_.capacity, samples);
        fit_.tokens_gone += samples * (length - fit_.capacity);
        break;
      case OverLong::kSplit:
        add(fit_.capacity, samples * (length / fit_.capacity));
        if (length % fit_.capacity > 0) add(length % fit_.capacity, samples);
        break;
    }
  }

  const PackSettings& settings_;
  CapacityFit& fit_;
  std::map<std::uint32_t, std::uint64_t> sizes_;
};

std::uint64_t to_multiple(std::uint64_t packs, const PackSettings& settings) {
  if (settings.remainder == Remainder::kDrop) return packs;
  return quotient_up(packs, settings.dp_size_multiple) * settings.dp_size_multiple;
}

}  // namespace

double CapacityFit::fill_of(std::uint64_t rows) const {
  if (rows == 0) return 0;
  return static_cast<double>(tokens) / (static_cast<double>(rows) * capacity);
}

CapacityFit fit_at(const LengthCounts& lengths, const PackSettings& settings,
                   std::uint32_t capacity) {
  PL_CHECK(capacity > 0 && capacity % settings.sample_multiple_of == 0);
  CapacityFit fit;
  fit.capacity = capacity;
  if (settings.strategy == Strategy::kWrapped) {
    fit.samples = lengths.samples();
    fit.tokens = lengths.tokens();
    fit.packs = fit.packs_at_least = to_multiple(quotient_up(fit.tokens, capacity), settings);
    return fit;
  }
  const std::vector<SizeCount> sizes = SizesAt(lengths, settings, fit).ascending();
  RunsOfBestFit runs({capacity, settings.max_samples});
  for (std::size_t i = sizes.size(); i-- > 0;) runs.place(sizes[i]);
  fit.packs = to_multiple(runs.opened(), settings);
  std::uint64_t least = bins_at_least(sizes, capacity);
  if (settings.max_samples > 0)
    least = std::max(least, quotient_up(fit.samples, settings.max_samples));
  fit.packs_at_least = to_multiple(least, settings);
  return fit;
}

std::vector<std::uint32_t> capacities_around(const PackSettings& settings, std::uint32_t longest) {
  const std::uint64_t own = settings.capacity;
  const std::uint64_t padding =
      settings.pad_to_multiple_of == own ? 1 : settings.pad_to_multiple_of;
  const std::uint64_t multiple = std::lcm(std::uint64_t{settings.sample_multiple_of}, padding);
  std::vector<std::uint32_t> all = {settings.capacity};
  for (const std::uint64_t wanted :
       {own / 2, own * 3 / 4, own * 5 / 4, own * 3 / 2, own * 2, std::uint64_t{longest}}) {
    const std::uint64_t capacity = quotient_up(wanted, multiple) * multiple;
    if (capacity > 0 && capacity <= kCapacityMost)
      all.push_back(static_cast<std::uint32_t>(capacity));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace packline

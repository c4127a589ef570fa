// Planning alone, on lengths in a file of little-endian u32. Prints one line of JSON.
//
//   bench_planning once FILE CAPACITY             all lengths in one plan (best fit decreasing)
//   bench_planning windows FILE CAPACITY          window by window, at the job file's defaults
//   bench_planning global FILE CAPACITY           the packs of `plan: global`
//   bench_planning balance FILE CAPACITY RANKS COST_PER_TOKEN none|attention
//       of each step, the dearest rank's work over the mean of all: over the epoch's steps

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "bench/programs/lane_driver.h"
#include "lib/packing/epoch_plan.h"

namespace packline::bench {
namespace {

using Lengths = std::vector<std::uint32_t>;

double seconds_since(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

Lengths read_lengths(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    std::fprintf(stderr, "%s cannot be read\n", path);
    std::exit(2);
  }
  Lengths lengths(static_cast<std::size_t>(file.tellg()) / sizeof(std::uint32_t));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(lengths.data()),
            static_cast<std::streamsize>(lengths.size() * sizeof(std::uint32_t)));
  return lengths;
}

PackSettings settings_of(const char* capacity) {
  PackSettings s;
  s.capacity = static_cast<std::uint32_t>(std::atoi(capacity));
  return s;
}

void tell(const Lengths& lengths, std::uint64_t bins, double seconds) {
  std::uint64_t tokens = 0;
  for (const std::uint32_t n : lengths) tokens += n;
  std::printf("{\"lengths\": %zu, \"tokens\": %llu, \"bins\": %llu, \"seconds\": %.6f}\n",
              lengths.size(), static_cast<unsigned long long>(tokens),
              static_cast<unsigned long long>(bins), seconds);
}

// A planner of its own, whose memory is still to be had: what one call costs.
void once(const Lengths& lengths, const PackSettings& settings) {
  const auto from = std::chrono::steady_clock::now();
  Planner planner(settings);
  const std::uint32_t bins = planner.plan(lengths).bins;
  tell(lengths, bins, seconds_since(from));
}

void windows(const Lengths& lengths, const PackSettings& settings) {
  std::uint64_t packs = 0;
  const auto from = std::chrono::steady_clock::now();
  LaneDriver lane(settings, lengths);
  for (bool last = false; !last;) {
    const Closing& closing = lane.next();
    packs += closing.packs.size();
    last = closing.last;
  }
  tell(lengths, packs, seconds_since(from));
}

void global(const Lengths& lengths, PackSettings settings) {
  settings.plan = PlanKind::kGlobal;
  const auto from = std::chrono::steady_clock::now();
  const EpochPlan plan(settings, lengths, {});
  tell(lengths, plan.packs(), seconds_since(from));
}

struct Steps {
  std::uint32_t ranks;
  std::uint64_t count = 0;
  double sum = 0, worst = 0;

  void add(const std::vector<double>& work) {
    double all = 0, most = 0;
    for (const double w : work) {
      all += w;
      most = std::max(most, w);
    }
    const double ratio = most / (all / ranks);
    ++count;
    sum += ratio;
    worst = std::max(worst, ratio);
  }
};

void balance(const Lengths& lengths, PackSettings settings, std::uint32_t ranks, double cost,
             bool balanced) {
  settings.dp_size_multiple = ranks;
  settings.balance = balanced ? Balance::kAttention : Balance::kNone;
  settings.cost_per_token = static_cast<std::uint32_t>(cost);
  LaneDriver lane(settings, lengths);
  Steps steps{ranks};
  for (bool last = false; !last;) {
    const Closing& closing = lane.next();
    last = closing.last;
    auto placed = closing.placed.begin();
    std::vector<double> work;
    for (const std::uint32_t samples : closing.packs) {
      double pack = 0;
      for (std::uint32_t i = 0; i < samples; ++i, ++placed) {
        const double n = lane.length_of(*placed);
        pack += cost * n + n * n;
      }
      work.push_back(pack);
      if (work.size() == ranks) {
        steps.add(work);
        work.clear();
      }
    }
  }
  std::printf("{\"steps\": %llu, \"mean\": %.6f, \"worst\": %.6f}\n",
              static_cast<unsigned long long>(steps.count),
              steps.sum / static_cast<double>(steps.count), steps.worst);
}

int run(int argc, char** argv) {
  const std::string what = argc > 3 ? argv[1] : "";
  if (what == "once" && argc == 4) {
    once(read_lengths(argv[2]), settings_of(argv[3]));
  } else if (what == "windows" && argc == 4) {
    windows(read_lengths(argv[2]), settings_of(argv[3]));
  } else if (what == "global" && argc == 4) {
    global(read_lengths(argv[2]), settings_of(argv[3]));
  } else if (what == "balance" && argc == 7) {
    balance(read_lengths(argv[2]), settings_of(argv[3]),
            static_cast<std::uint32_t>(std::atoi(argv[4])), std::atof(argv[5]),
            std::string(argv[6]) == "attention");
  } else {
    std::fputs("usage: see the head of bench/programs/planning.cc\n", stderr);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace packline::bench

int main(int argc, char** argv) { return packline::bench::run(argc, argv); }

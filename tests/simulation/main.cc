// packline-simulate: the production state machines of delivery under a virtual clock, a lossy
// network and dying processes. One seed is one run, always the same.
//
// clang-format off
//   packline-simulate --seeds A:B [--no-faults] [--jobs N]    the seeds A..B-1; exit 1 when one fails
//   packline-simulate --seed N [--no-faults] [--trace]        one seed
// clang-format on

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/training.h"
#include "tests/simulation/world.h"

namespace {

using packline::simulation::Failure;
using packline::simulation::World;

struct Options {
  std::uint64_t first = 0, last = 1000;
  bool faults = true, trace = false, one = false;
  unsigned jobs = 1;
};

struct Outcome {
  std::string failure;  // "" = none
  std::uint64_t events = 0;
  std::int64_t trained_ms = 0;  // after the last fault
  std::map<std::string, std::uint64_t> counts;
};

Outcome simulate(std::uint64_t seed, const Options& o) {
  World world(seed, o.faults, o.trace);
  Outcome out;
  try {
    world.go();
  } catch (const Failure& f) {
    out.failure = f.text;
  }
  out.events = world.events;
  out.trained_ms = world.training->over_at - world.quiet;
  out.counts = std::move(world.counts);
  return out;
}

std::string replay(std::uint64_t seed, const Options& o) {
  return fmt::format("packline-simulate --seed {}{} --trace", seed, o.faults ? "" : " --no-faults");
}

// Shared with the parent, so that it can name the seed of a child that died of a broken promise.
struct Slot {
  std::uint64_t next = 0;  // the seed at work
  std::uint64_t events = 0, failures = 0;
};

void work(Slot& slot, std::uint64_t end, const Options& o) {
  for (; slot.next < end; ++slot.next) {
    const Outcome out = simulate(slot.next, o);
    slot.events += out.events;
    if (out.failure.empty()) continue;
    ++slot.failures;
    fmt::print("seed {} failed: {}\n    replay: {}\n", slot.next, out.failure,
               replay(slot.next, o));
    std::fflush(stdout);
  }
}

pid_t start(Slot& slot, std::uint64_t end, const Options& o) {
  const pid_t child = fork();
  if (child != 0) return child;
  work(slot, end, o);
  std::fflush(stdout);
  _exit(0);
}

int many(const Options& o) {
  const auto began = std::chrono::steady_clock::now();
  void* shared = mmap(nullptr, sizeof(Slot) * o.jobs, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    fmt::print(stderr, "packline-simulate: no shared memory: {}\n", std::strerror(errno));
    return 4;
  }
  Slot* slots = new (shared) Slot[o.jobs];
  std::vector<std::uint64_t> ends;
  std::map<pid_t, unsigned> children;
  const std::uint64_t n = o.last - o.first;
  for (unsigned j = 0; j < o.jobs; ++j) {
    slots[j].next = o.first + n * j / o.jobs;
    ends.push_back(o.first + n * (j + 1) / o.jobs);
    children[start(slots[j], ends[j], o)] = j;
  }
  while (!children.empty()) {
    int status = 0;
    const pid_t child = wait(&status);
    if (child < 0) break;
    const unsigned j = children.at(child);
    children.erase(child);
    if (status == 0) continue;
    fmt::print(
        "seed {} failed: a state machine broke a promise (its sentence stands above)\n"
        "    replay: {}\n",
        slots[j].next, replay(slots[j].next, o));
    ++slots[j].failures;
    ++slots[j].next;
    std::fflush(stdout);
    children[start(slots[j], ends[j], o)] = j;
  }
  std::uint64_t events = 0, failures = 0;
  for (unsigned j = 0; j < o.jobs; ++j) {
    events += slots[j].events;
    failures += slots[j].failures;
  }
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  fmt::print("{} seeds, {} failed; {} events in {:.1f} s ({:.0f} seeds/s)\n", n, failures, events,
             s, static_cast<double>(n) / s);
  return failures == 0 ? 0 : 1;
}

int one(const Options& o) {
  const Outcome out = simulate(o.first, o);
  for (const auto& [what, count] : out.counts) fmt::print("    {}: {}\n", what, count);
  if (out.failure.empty()) {
    fmt::print("seed {}: ok, {} events; training was over {} ms after the last fault\n", o.first,
               out.events, out.trained_ms);
    return 0;
  }
  fmt::print("seed {} failed: {}\n    replay: {}\n", o.first, out.failure, replay(o.first, o));
  return 1;
}

std::optional<Options> parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (arg == "--no-faults") {
      o.faults = false;
    } else if (arg == "--trace") {
      o.trace = true;
    } else if (arg == "--seed" && !value.empty()) {
      o.first = std::strtoull(value.c_str(), nullptr, 10);
      o.one = true;
      ++i;
    } else if (arg == "--jobs" && !value.empty()) {
      o.jobs = static_cast<unsigned>(std::max(1L, std::strtol(value.c_str(), nullptr, 10)));
      ++i;
    } else if (arg == "--seeds" && value.find(':') != std::string::npos) {
      o.first = std::strtoull(value.c_str(), nullptr, 10);
      o.last = std::strtoull(value.c_str() + value.find(':') + 1, nullptr, 10);
      ++i;
    } else {
      return std::nullopt;
    }
  }
  return o.last >= o.first || o.one ? std::optional(o) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options) {
    fmt::print(stderr,
               "usage: packline-simulate --seeds A:B [--no-faults] [--jobs N]\n"
               "       packline-simulate --seed N [--no-faults] [--trace]\n");
    return 2;
  }
  return options->one ? one(*options) : many(*options);
}

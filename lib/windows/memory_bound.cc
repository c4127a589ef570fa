#include "lib/windows/memory_bound.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "lib/packing/closing.h"
#include "lib/windows/read_ahead.h"

// Every formula counts what can be held at once, in tokens and samples, turns it into bytes, adds a
// seventh for what the allocator cannot reuse, and adds what a process costs before it holds
// anything. Constants are measured, rounded up.

namespace packline {
namespace {

constexpr double kMiB = 1 << 20;
constexpr double kProcess = 12 * kMiB;      // a role that holds nothing: sockets, logs, HTTP
constexpr double kWorkerThread = 2 * kMiB;  // its arena and scratch
constexpr double kInterpreter = 64 * kMiB;  // Python with numpy, msgpack, pyzmq
constexpr double kModelFactor = 24;         // memory of a tokenizer's model a byte of its file
constexpr double kAllocatorSlack = 1.15;
constexpr double kLooseSample = 900;  // a sample on its own: columns, buffers, id, bookkeeping
constexpr double kPackedSample = 96;  // a sample within a window or a pack: id, length, rows
constexpr double kPlanToken = 20;     // Planner, a token of capacity
constexpr double kPlanSample = 24;    // Planner and candidates, a sample

// JSON bytes a token, and column bytes a token: token ids as digits, with labels, of which most
// become spans; or text.
constexpr double kRawTokensFormat = 14, kRawTextFormat = 6;
constexpr double kColumnsTokensFormat = 6, kColumnsTextFormat = 5;

struct Sizes {
  double raw;      // bytes of a record, a token
  double loose;    // bytes of a sample outside a window, a token
  double packed;   // bytes of a sample within a window, a token
  double samples;  // a token
};

Sizes sizes_of(const Job& job, const MemoryAssumptions& assumptions) {
  const bool ready = std::any_of(job.sources.begin(), job.sources.end(), [](const auto& source) {
    return source.format == Format::kTokens;
  });
  const double columns = assumptions.bytes_a_token > 0
                             ? assumptions.bytes_a_token
                             : (ready ? kColumnsTokensFormat : kColumnsTextFormat);
  const double tokens = assumptions.sample_tokens > 0
                            ? assumptions.sample_tokens
                            : std::clamp(job.pack.capacity / 8.0, 64.0, 512.0);
  return {ready ? kRawTokensFormat : kRawTextFormat, columns + kLooseSample / tokens,
          columns + kPackedSample / tokens, 1 / tokens};
}

std::uint64_t bound(double process, double held) {
  return static_cast<std::uint64_t>(process + held * kAllocatorSlack);
}

// Of its lanes, the windows that credit allows and the samples looked ahead at; of the lane that is
// being closed, all its candidates, and the new window beside them; of the reading, the groups in
// the pool and as many put by, each as bytes and as samples.
std::uint64_t producer_bound(const Job& job, const MemoryAssumptions& assumptions,
                             const Sizes& sizes) {
  const PackSettings& pack = job.pack;
  const std::uint32_t producers = std::clamp(assumptions.producers, 1U, job.lanes);
  const double lanes = (job.lanes + producers - 1) / producers;
  const double window = double{1} * pack.packs_per_window * pack.capacity;
  const double candidates = static_cast<double>(tokens_wanted(pack)) + pack.capacity;
  const double group = std::min(
      static_cast<double>(ReadAhead::kGroupRecords) / sizes.samples * (sizes.raw + sizes.loose),
      static_cast<double>(ReadAhead::kGroupBytes) * (1 + sizes.loose / sizes.raw));
  const double groups = 2 * static_cast<double>(ReadAhead::groups_max(job.encode.threads));
  const double planning = kPlanToken * pack.capacity + kPlanSample * candidates * sizes.samples;
  const double held = lanes * job.deliver.window_credit * window * sizes.packed +
                      lanes * (candidates - window) * sizes.loose + window * sizes.loose +
                      window * sizes.packed + groups * group + planning;
  const double process = kProcess + kWorkerThread * job.encode.threads +
                         kModelFactor * static_cast<double>(assumptions.model_bytes);
  return bound(process, held);
}

// The window at hand and its packs, two windows that wait in the socket, and the packs of one that
// sinks have not yet taken.
std::uint64_t packer_bound(const Job& job, const Sizes& sizes) {
  const double window = double{1} * job.pack.packs_per_window * job.pack.capacity;
  const double planning = kPlanToken * job.pack.capacity + kPlanSample * window * sizes.samples;
  return bound(kProcess, 5 * window * sizes.packed + planning);
}

// Of every lane, the slices that credit allows; two more that wait in the sockets.
std::uint64_t sink_bound(const Job& job, const Sizes& sizes) {
  const double slice =
      double{1} * job.pack.packs_per_window * job.pack.capacity / job.deliver.dp_size;
  return bound(kProcess,
               (double{1} * job.lanes * job.deliver.window_credit + 2) * slice * sizes.packed);
}

// The packs that were asked for, as received, and two of them as arrays of 64-bit integers:
// input_ids, labels, position_ids.
std::uint64_t client_bound(const Job& job, const MemoryAssumptions& assumptions,
                           const Sizes& sizes) {
  const double pack = job.pack.capacity;
  return bound(kInterpreter,
               assumptions.client_room * pack * sizes.packed + 2 * pack * 3 * sizeof(std::int64_t));
}

}  // namespace

MemoryAssumptions assumptions_for(const Job& job, std::uint32_t producers) {
  MemoryAssumptions assumptions;
  assumptions.producers = producers;
  if (job.encode.kind == EncodeKind::kSentencePiece) {
    std::error_code none;
    const auto size = std::filesystem::file_size(job.encode.model, none);
    if (!none) assumptions.model_bytes = size;
  }
  return assumptions;
}

MemoryBound memory_bound(const Job& job, const MemoryAssumptions& assumptions) {
  const Sizes sizes = sizes_of(job, assumptions);
  return {producer_bound(job, assumptions, sizes), packer_bound(job, sizes), sink_bound(job, sizes),
          client_bound(job, assumptions, sizes)};
}

}  // namespace packline

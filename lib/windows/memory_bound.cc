#include "lib/windows/memory_bound.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "lib/corpus/byte_stream.h"
#include "lib/corpus/file.h"
#include "lib/packing/closing.h"
#include "lib/windows/read_ahead.h"

// Every formula counts what can be held at once, in tokens, samples and packs, turns it into bytes,
// and adds what a process costs before it holds anything; a seventh more where much is allocated
// piece by piece, for what the allocator cannot reuse. Constants are measured, rounded up.

namespace packline {
namespace {

constexpr double kKiB = 1 << 10;
constexpr double kMiB = 1 << 20;
constexpr double kProcess = 3 * kMiB;       // a role that holds nothing: sockets, logs, HTTP
constexpr double kWorkerThread = 2 * kMiB;  // its arena and scratch
constexpr double kInterpreter = 22 * kMiB;  // Python with numpy, msgpack, pyzmq; without torch
constexpr double kModelFactor = 18;         // memory of a tokenizer's model a byte of its file
constexpr double kAllocatorSlack = 1.15;
constexpr double kLooseSample = 900;    // a sample on its own: columns, buffers, id, bookkeeping
constexpr double kPackedSample = 96;    // a sample within a window or a pack: id, length, rows
constexpr double kMadePack = 2 * kKiB;  // the frames of a pack but for its data
constexpr double kReceivedPack = 12 * kKiB;  // likewise; small frames keep the buffer they came in
constexpr double kPlanToken = 20;            // Planner, a token of capacity
constexpr double kPlanSample = 24;           // Planner and candidates, a sample

// What a client asks for when nobody chose: trainer/packline/subscriber.py.
constexpr double kClientRoomBytes = 64 * kMiB;
constexpr double kClientRoomMin = 2, kClientRoomMax = 64;

// JSON bytes a token; column bytes a token: token ids, and labels, most of which become spans.
constexpr double kRawTokensFormat = 14, kRawTextFormat = 6;
constexpr double kColumns = 5;

// A plan of a whole epoch while it is made, EpochPlan and EpochSamples; made, it is a third of
// that.
constexpr std::uint64_t kGlobalSample = 17;
constexpr std::uint64_t kPipeMin = std::uint64_t{16} << 20;

struct BytesAToken {
  double raw;      // bytes of a record, a token
  double loose;    // bytes of a sample outside a window, a token
  double packed;   // bytes of a sample within a window, a token
  double samples;  // a token
};

BytesAToken sizes_of(const Job& job, const MemoryAssumptions& assumptions) {
  const bool ready = std::any_of(job.sources.begin(), job.sources.end(), [](const auto& source) {
    return source.format == Format::kTokens;
  });
  const double columns = assumptions.bytes_a_token > 0 ? assumptions.bytes_a_token : kColumns;
  const double tokens = assumptions.sample_tokens > 0
                            ? assumptions.sample_tokens
                            : std::clamp(job.pack.capacity / 8.0, 64.0, 512.0);
  return {ready ? kRawTokensFormat : kRawTextFormat, columns + kLooseSample / tokens,
          columns + kPackedSample / tokens, 1 / tokens};
}

double window_tokens(const Job& job) {
  return double{1} * job.pack.packs_per_window * job.pack.capacity;
}

// Whether a file is packed and read as it is.
bool is_packed(const std::string& file) {
  const auto fd = open_to_read(file);
  if (!fd) return false;
  const auto compression = compression_of(*fd, file);
  return compression && *compression != Compression::kNone;
}

// Of its lanes, the windows that credit allows and the samples looked ahead at; of the lane that is
// being closed, all its candidates, and the new window beside them; of the reading, the groups in
// the pool and as many put by, each as bytes or as samples, its records up to twice as long as the
// mean.
std::uint64_t producer_bound(const Job& job, const MemoryAssumptions& assumptions,
                             const BytesAToken& sizes) {
  const PackSettings& pack = job.pack;
  const std::uint32_t producers = std::clamp(assumptions.producers, 1U, job.lanes);
  const std::uint32_t of_one = (job.lanes + producers - 1) / producers;
  const double lanes = of_one;
  const double window = window_tokens(job);
  const double candidates = static_cast<double>(tokens_wanted(pack)) + pack.capacity;
  const double a_token = std::max(sizes.raw, sizes.loose);
  const bool processes = in_processes(job.encode.kind);
  const double records = processes ? job.encode.batch_records : ThreadPool::kGroupRecords;
  const double group = std::min(2 * records / sizes.samples * a_token,
                                static_cast<double>(ReadAhead::kGroupBytes) * a_token / sizes.raw);
  const double groups =
      2 * static_cast<double>(processes ? process_groups_max(job.encode.processes)
                                        : ThreadPool::groups_max(job.encode.threads));
  const double planning = kPlanToken * pack.capacity + kPlanSample * candidates * sizes.samples;
  const double held = lanes * job.deliver.window_credit * window * sizes.packed +
                      lanes * (candidates - window) * sizes.loose + window * sizes.loose +
                      window * sizes.packed + groups * group + planning;
  const bool pipe = std::ranges::any_of(job.sources, &SourceSettings::pipe);
  const double kept = (pipe ? static_cast<double>(pipe_memory(job)) : 0) +
                      static_cast<double>(Source::kPackedMemory) * assumptions.packed_sources;
  return static_cast<std::uint64_t>(kProcess + kWorkerThread * job.encode.threads +
                                    kModelFactor * static_cast<double>(assumptions.model_bytes) +
                                    (held + kept) * kAllocatorSlack);
}

// Windows: one at hand and its packs; two that wait in the socket and one that is just arriving;
// the packs of two that wait on their way to sinks, and of one that a sink is just taking. Each in
// a few large pieces, which are given back whole.
std::uint64_t packer_bound(const Job& job, const BytesAToken& sizes) {
  const double window = window_tokens(job);
  const double planning = kPlanToken * job.pack.capacity + kPlanSample * window * sizes.samples;
  return static_cast<std::uint64_t>(
      kProcess + planning + 7 * (window * sizes.packed + job.pack.packs_per_window * kMadePack));
}

// Of every lane, the slices that credit allows; two more that wait in the sockets.
std::uint64_t sink_bound(const Job& job, const BytesAToken& sizes) {
  const double window =
      window_tokens(job) * sizes.packed + job.pack.packs_per_window * kReceivedPack;
  const double slices = double{1} * job.lanes * job.deliver.window_credit + 2;
  return static_cast<std::uint64_t>(kProcess +
                                    slices * window / job.deliver.dp_size * kAllocatorSlack);
}

// The packs that were asked for, as received, and two of them as arrays of 64-bit integers:
// input_ids, labels, position_ids.
std::uint64_t client_bound(const Job& job, const MemoryAssumptions& assumptions,
                           const BytesAToken& sizes) {
  const double pack = job.pack.capacity * sizes.packed;
  const double room = assumptions.client_room > 0
                          ? assumptions.client_room
                          : std::clamp(kClientRoomBytes / pack, kClientRoomMin, kClientRoomMax);
  const double arrays = 2.0 * job.pack.capacity * 3 * sizeof(std::int64_t);
  return static_cast<std::uint64_t>(kInterpreter +
                                    (room * (pack + kReceivedPack) + arrays) * kAllocatorSlack);
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
  const bool unpacks = job.shuffle.kind == ShuffleKind::kFull || job.pack.plan == PlanKind::kGlobal;
  for (const SourceSettings& source : job.sources) {
    if (unpacks || source.pipe) continue;
    assumptions.packed_sources += std::ranges::any_of(source.files, is_packed);
  }
  return assumptions;
}

std::uint64_t pipe_memory(const Job& job) {
  const double tokens = 2.0 * job.deliver.window_credit * window_tokens(job) +
                        2 * (static_cast<double>(tokens_wanted(job.pack)) + job.pack.capacity);
  const double bytes = 2 * tokens * sizes_of(job, {}).raw;
  return std::max(kPipeMin, static_cast<std::uint64_t>(bytes));
}

MemoryBound memory_bound(const Job& job, const MemoryAssumptions& assumptions) {
  const BytesAToken sizes = sizes_of(job, assumptions);
  return {producer_bound(job, assumptions, sizes), packer_bound(job, sizes), sink_bound(job, sizes),
          client_bound(job, assumptions, sizes),
          job.pack.plan == PlanKind::kGlobal ? kGlobalSample : 0};
}

}  // namespace packline

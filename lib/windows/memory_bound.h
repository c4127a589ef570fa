#pragma once

#include <cstdint>

#include "lib/config/job.h"

namespace packline {

// Bytes of anonymous memory that one process of each role stays under (law L6).
struct MemoryBound {
  std::uint64_t producer = 0;
  std::uint64_t packer = 0;
  std::uint64_t sink = 0;
  std::uint64_t client = 0;  // of a trainer rank that only receives, its interpreter included
  // And so many more of a producer for each sample of an epoch, whose number is known once all were
  // read (pack.plan: global).
  std::uint64_t producer_a_sample = 0;
};

// What the settings do not say. The defaults are for token ids of ordinary texts with labels that
// are the ids or -100; a job whose labels are others, whose samples carry images or are much
// shorter than assumed takes more.
struct MemoryAssumptions {
  std::uint32_t producers = 1;       // processes; the lanes are dealt over them
  double bytes_a_token = 0;          // of all columns; 0 = as of such texts, 5
  double sample_tokens = 0;          // mean length; 0 = capacity / 8, but 64 to 512
  std::uint64_t model_bytes = 0;     // size of the encoder's model file
  std::uint32_t packed_sources = 0;  // those with files that are read packed
  std::uint32_t client_room = 0;     // `prefetch` of the client; 0 = as it is without one
};

// As above with the model's size looked up, and how files begin. Opens no pipe.
MemoryAssumptions assumptions_for(const Job& job, std::uint32_t producers);

// What a producer keeps of a pipe's records, at most, so that the windows of deliver.window_credit
// can be made again: of records as the defaults above assume them, twice over.
std::uint64_t pipe_memory(const Job& job);

// The formulas stand in memory_bound.cc.
MemoryBound memory_bound(const Job& job, const MemoryAssumptions& assumptions);

}  // namespace packline

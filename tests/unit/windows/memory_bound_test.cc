#include "lib/windows/memory_bound.h"

#include <doctest/doctest.h>

#include "tests/unit/windows/support.h"

namespace packline {
namespace {

Job usual_job() {
  Job job;
  job.sources.resize(1);
  job.pack.lookahead_packs = 32;
  job.deliver.dp_size = 4;
  return job;
}

MemoryBound bound_of(const Job& job, std::uint32_t producers = 1) {
  return memory_bound(job, assumptions_for(job, producers));
}

TEST_CASE("memory_bound: at least the windows that a role may hold") {
  const Job job = usual_job();
  const MemoryBound bound = bound_of(job);
  const std::uint64_t window = std::uint64_t{256} * 8192 * 4;  // bytes of input_ids alone
  CHECK(bound.producer > 4 * 4 * window);
  CHECK(bound.packer > 2 * window);
  CHECK(bound.sink > 4 * 4 * window / 4);
  CHECK(bound.producer < 3 * 4 * 4 * window);
}

// L6: "Memory is bounded by configuration."
TEST_CASE("memory_bound: grows with what a user can raise, falls with more processes") {
  const Job job = usual_job();
  const MemoryBound usual = bound_of(job);
  CHECK(bound_of(job, 4).producer < usual.producer);
  CHECK(bound_of(job, 9).producer == bound_of(job, 4).producer);
  Job more = job;
  more.deliver.window_credit = 8;
  CHECK(bound_of(more).producer > usual.producer);
  CHECK(bound_of(more).sink > usual.sink);
  CHECK(bound_of(more).packer == usual.packer);
  more = job;
  more.deliver.dp_size = 8;
  CHECK(bound_of(more).sink < usual.sink);
  more = job;
  more.encode.threads = 8;
  CHECK(bound_of(more).producer > usual.producer);
  more = job;
  more.encode.kind = EncodeKind::kPython;
  const MemoryBound few = bound_of(more);
  more.encode.processes = 64;
  const MemoryBound many = bound_of(more);
  CHECK(many.producer > few.producer);
  more.encode.batch_records = 1;
  CHECK(bound_of(more).producer < many.producer);
  more = job;
  more.pack.capacity *= 2;
  CHECK(bound_of(more).client > usual.client);
  CHECK(bound_of(more).packer > usual.packer);
  more = job;
  more.sources[0].format = Format::kTokens;
  CHECK(bound_of(more).producer > usual.producer);
}

// What a client without a `prefetch` asks for: as many packs as make 64 MiB, 2 to 64 of them.
TEST_CASE("memory_bound: a client's room follows the size of the packs") {
  Job job = usual_job();
  MemoryAssumptions chosen;
  chosen.client_room = 64;
  CHECK(memory_bound(job, {}).client == memory_bound(job, chosen).client);
  job.pack.capacity = 1 << 20;
  const std::uint64_t room = std::uint64_t{64} << 20;
  const std::uint64_t arrays = std::uint64_t{2} * job.pack.capacity * 3 * 8;
  CHECK(memory_bound(job, {}).client > room + arrays);
  CHECK(memory_bound(job, {}).client < 2 * (room + arrays));
  chosen.client_room = 2;
  job.pack.capacity = 1 << 24;
  CHECK(memory_bound(job, {}).client == memory_bound(job, chosen).client);
}

// What is kept of sources themselves, and what can be said of a plan whose samples nobody has seen.
TEST_CASE("memory_bound: packed files, a pipe and a global plan have their share") {
  const test::TempFolder folder;
  Job job = usual_job();
  job.shuffle.kind = ShuffleKind::kNone;
  job.sources[0].files = {folder.write("a.jsonl", "{}\n")};
  const std::uint64_t plain = bound_of(job).producer;
  job.sources[0].files.push_back(folder.write("b.jsonl", "\x1F\x8B and so on"));
  CHECK(bound_of(job).producer >= plain + Source::kPackedMemory);
  job.shuffle.kind = ShuffleKind::kFull;  // which reads it unpacked
  CHECK(bound_of(job).producer == plain);
  CHECK(bound_of(job).producer_a_sample == 0);
  job.pack.plan = PlanKind::kGlobal;
  CHECK(bound_of(job).producer_a_sample >= 16);
  job.pack.plan = PlanKind::kStreaming;
  job.sources[0].pipe = true;
  CHECK(bound_of(job).producer >= plain + pipe_memory(job));
}

TEST_CASE("pipe_memory: the records of the credit's windows and more") {
  Job job = usual_job();
  const std::uint64_t window = std::uint64_t{256} * 8192 * 6;  // bytes of text
  CHECK(pipe_memory(job) > 2 * 4 * window);
  CHECK(pipe_memory(job) < 30 * window);
  job.pack.packs_per_window = 1;
  job.pack.capacity = 128;
  job.pack.lookahead_packs = 0;
  CHECK(pipe_memory(job) == 16U << 20U);
}

TEST_CASE("assumptions_for: a sentencepiece model counts by its size") {
  const test::TempFolder folder;
  Job job = usual_job();
  job.encode.kind = EncodeKind::kSentencePiece;
  job.encode.model = folder.write("tok.model", std::string(1000, 'x'));
  CHECK(assumptions_for(job, 1).model_bytes == 1000);
  job.encode.model = folder.path() + "/missing";
  CHECK(assumptions_for(job, 1).model_bytes == 0);
}

}  // namespace
}  // namespace packline

#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/encode/encoder.h"

namespace packline {

// One record that waits for a worker: as EncodeRequest, but it owns its bytes.
struct PoolRecord {
  std::string bytes;
  const SourceSettings* source = nullptr;  // must outlive the pool's work
  std::string id;
  std::uint64_t seed = 0;
  RecordForm form = RecordForm::kJson;
};

// Worker threads that encode groups of records and give the results back in the order in which the
// groups were submitted, however many threads there are.
//
// The pool belongs to one thread: all of its functions are called from there. It holds at most
// limit() groups that were submitted and not taken; whoever fills it takes before it submits more.
// A group is encoded by one worker from its first to its last record, so a group of some hundred
// short records costs little more than the encoding. The destructor drops what has not begun,
// waits for what has, and joins.
class EncodePool {
 public:
  using Group = std::vector<PoolRecord>;

  // `encoder` must outlive the pool. threads >= 1. limit 0 = two groups a thread and one more.
  EncodePool(const Encoder& encoder, unsigned threads, std::size_t limit = 0);
  ~EncodePool();
  EncodePool(const EncodePool&) = delete;
  EncodePool& operator=(const EncodePool&) = delete;

  std::size_t limit() const { return limit_; }
  std::size_t outstanding() const { return jobs_.size(); }  // submitted, not taken
  bool full() const { return outstanding() >= limit_; }

  // Never waits; the pool must not be full.
  void submit(Group group);

  // The results of the oldest outstanding group, one for each of its records; waits for them. There
  // must be one.
  std::vector<Encoded> take();

 private:
  struct Job;
  void work();
  Encoded encode(PoolRecord& r) const;

  const Encoder& encoder_;
  const std::size_t limit_;
  std::deque<std::shared_ptr<Job>> jobs_;  // the owner's: in the order of submitting
  mutable std::mutex mutex_;
  std::condition_variable todo_changed_, job_done_;
  std::deque<std::shared_ptr<Job>> todo_;  // guarded by mutex_: not begun
  bool stop_ = false;                      // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace packline

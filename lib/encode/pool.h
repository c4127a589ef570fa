#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/result.h"
#include "lib/encode/encoder.h"

namespace packline {

// One record that waits to be encoded: as EncodeRequest, but it owns its bytes.
struct PoolRecord {
  std::string bytes;
  const SourceSettings* source = nullptr;  // must outlive the pool's work
  std::string id;
  std::uint64_t seed = 0;
  RecordForm form = RecordForm::kJson;
};

// Encodes groups of records, somewhere, and gives each group back when it is done: in any order, so
// that a slow record holds up its own group alone.
//
// A pool belongs to one thread, which calls all of its functions but wake(). It holds at most
// limit() groups that were submitted and not taken; whoever fills it takes before it submits more.
class EncodePool {
 public:
  using Group = std::vector<PoolRecord>;
  struct Done {
    std::uint64_t group = 0;       // as submit() numbered it
    std::vector<Encoded> records;  // one for each of the group's
  };

  virtual ~EncodePool() = default;

  virtual std::size_t limit() const = 0;
  virtual std::size_t group_records() const = 0;  // how many records a group should have at most
  std::size_t outstanding() const { return outstanding_; }  // submitted, not taken
  bool full() const { return outstanding() >= limit(); }

  // Never waits; the pool must not be full. Returns the group's number.
  std::uint64_t submit(Group group);

  // A group that is done; none when none is. Error: nothing will be encoded any more.
  Result<std::optional<Done>> take();
  // Until take() has something, or somebody calls wake(). A wake() that comes first is not lost.
  virtual void wait() = 0;
  virtual void wake() = 0;  // from any thread

 private:
  virtual void begin(std::uint64_t number, Group group) = 0;
  virtual Result<std::optional<Done>> finished() = 0;

  std::uint64_t last_ = 0;
  std::size_t outstanding_ = 0;
};

// Groups that go to encoder processes: enough that each has a batch to work on and one that waits,
// and some are on their way.
constexpr std::size_t process_groups_max(std::uint32_t processes) {
  return 8 + 4 * std::size_t{processes};
}

// Who encodes a job's records: threads of this process, or encoder processes.
class Encoders {
 public:
  virtual ~Encoders() = default;
  // What the job's fingerprint says of the encoder.
  virtual std::string identity() const = 0;
  // Must not outlive this. Several pools may be open at once.
  virtual std::unique_ptr<EncodePool> open_pool() = 0;
};

// Worker threads of this process. A group is encoded by one worker from its first to its last
// record, so a group of some hundred short records costs little more than the encoding. The
// destructor drops what has not begun, waits for what has, and joins.
class ThreadPool final : public EncodePool {
 public:
  static constexpr std::size_t kGroupRecords = 64;
  // Enough that workers have work while the owner closes a window.
  static std::size_t groups_max(std::uint32_t threads) { return 8 + 4 * std::size_t{threads}; }

  // `encoder` must outlive the pool. threads >= 1. limit 0 = groups_max().
  ThreadPool(const Encoder& encoder, unsigned threads, std::size_t limit = 0);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t limit() const override { return limit_; }
  std::size_t group_records() const override { return kGroupRecords; }
  void wait() override;
  void wake() override;

 private:
  struct Job {
    std::uint64_t number = 0;
    Group group;
  };
  void begin(std::uint64_t number, Group group) override;
  Result<std::optional<Done>> finished() override;
  void work();
  Encoded encode(PoolRecord& r) const;

  const Encoder& encoder_;
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable todo_changed_, done_changed_;
  std::deque<Job> todo_;   // guarded by mutex_: not begun
  std::deque<Done> done_;  // guarded by mutex_
  bool woken_ = false;     // guarded by mutex_
  bool stop_ = false;      // guarded by mutex_
  std::vector<std::thread> threads_;
};

// Of an encoder in this process, on that many threads.
std::unique_ptr<Encoders> encoders_here(std::unique_ptr<Encoder> encoder, std::uint32_t threads);

}  // namespace packline

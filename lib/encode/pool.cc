#include "lib/encode/pool.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "lib/base/check.h"
#include "lib/encode/builtin.h"

namespace packline {

struct EncodePool::Job {
  Group group;
  std::vector<Encoded> results;
  bool done = false;  // guarded by mutex_; results belong to the owner from then on
};

EncodePool::EncodePool(const Encoder& encoder, unsigned threads, std::size_t limit)
    : encoder_(encoder), limit_(limit > 0 ? limit : 2 * std::size_t{threads} + 1) {
  PL_CHECK(threads >= 1);
  threads_.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

EncodePool::~EncodePool() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  todo_changed_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void EncodePool::submit(Group group) {
  PL_CHECK(!full());
  auto job = std::make_shared<Job>();
  job->group = std::move(group);
  jobs_.push_back(job);
  {
    const std::lock_guard guard(mutex_);
    todo_.push_back(std::move(job));
  }
  todo_changed_.notify_one();
}

std::vector<Encoded> EncodePool::take() {
  PL_CHECK(!jobs_.empty());
  const std::shared_ptr<Job> job = std::move(jobs_.front());
  jobs_.pop_front();
  std::unique_lock lock(mutex_);
  job_done_.wait(lock, [&job] { return job->done; });
  return std::move(job->results);
}

// An encoder is the place for other people's code, and memory ends anywhere: what it throws costs
// this record, not the process. The outcome may not be the same elsewhere, but it is counted.
Encoded EncodePool::encode(PoolRecord& r) const {
  try {
    return encoder_.encode({r.bytes, r.source, std::move(r.id), r.seed, r.form});
  } catch (const std::exception& e) {
    return lost(RecordLoss::kEncode, fmt::format("the encoder failed: {}", e.what()));
  }
}

void EncodePool::work() {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex_);
      todo_changed_.wait(lock, [this] { return stop_ || !todo_.empty(); });
      if (stop_) return;
      job = std::move(todo_.front());
      todo_.pop_front();
    }
    job->results.reserve(job->group.size());
    for (PoolRecord& r : job->group) job->results.push_back(encode(r));
    job->group = Group();
    {
      const std::lock_guard guard(mutex_);
      job->done = true;
    }
    job_done_.notify_one();
  }
}

}  // namespace packline

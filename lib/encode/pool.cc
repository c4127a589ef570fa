#include "lib/encode/pool.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "lib/base/check.h"
#include "lib/encode/builtin.h"

namespace packline {

std::uint64_t EncodePool::submit(Group group) {
  PL_CHECK(!full());
  ++outstanding_;
  begin(++last_, std::move(group));
  return last_;
}

Result<std::optional<EncodePool::Done>> EncodePool::take() {
  Result<std::optional<Done>> done = finished();
  if (done && *done) --outstanding_;
  return done;
}

ThreadPool::ThreadPool(const Encoder& encoder, unsigned threads, std::size_t limit)
    : encoder_(encoder), limit_(limit > 0 ? limit : groups_max(threads)) {
  PL_CHECK(threads >= 1);
  threads_.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  todo_changed_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void ThreadPool::begin(std::uint64_t number, Group group) {
  {
    const std::lock_guard guard(mutex_);
    todo_.push_back({number, std::move(group)});
  }
  todo_changed_.notify_one();
}

Result<std::optional<EncodePool::Done>> ThreadPool::finished() {
  const std::lock_guard guard(mutex_);
  if (done_.empty()) return std::nullopt;
  std::optional<Done> done(std::move(done_.front()));
  done_.pop_front();
  return done;
}

void ThreadPool::wait() {
  std::unique_lock lock(mutex_);
  done_changed_.wait(lock, [this] { return woken_ || !done_.empty(); });
  woken_ = false;
}

void ThreadPool::wake() {
  {
    const std::lock_guard guard(mutex_);
    woken_ = true;
  }
  done_changed_.notify_one();
}

// An encoder is the place for other people's code, and memory ends anywhere: what it throws costs
// this record, not the process. The outcome may not be the same elsewhere, but it is counted.
Encoded ThreadPool::encode(PoolRecord& r) const {
  try {
    return encoder_.encode({r.bytes, r.source, std::move(r.id), r.seed, r.form});
  } catch (const std::exception& e) {
    return lost(RecordLoss::kEncode, fmt::format("the encoder failed: {}", e.what()));
  }
}

void ThreadPool::work() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      todo_changed_.wait(lock, [this] { return stop_ || !todo_.empty(); });
      if (stop_) return;
      job = std::move(todo_.front());
      todo_.pop_front();
    }
    Done done{job.number, {}};
    done.records.reserve(job.group.size());
    for (PoolRecord& r : job.group) done.records.push_back(encode(r));
    job.group = Group();
    {
      const std::lock_guard guard(mutex_);
      done_.push_back(std::move(done));
    }
    done_changed_.notify_one();
  }
}

namespace {

class Here final : public Encoders {
 public:
  Here(std::unique_ptr<Encoder> encoder, std::uint32_t threads)
      : encoder_(std::move(encoder)), threads_(threads) {}
  std::string identity() const override { return encoder_->identity(); }
  std::unique_ptr<EncodePool> open_pool() override {
    return std::make_unique<ThreadPool>(*encoder_, threads_);
  }

 private:
  const std::unique_ptr<Encoder> encoder_;
  const std::uint32_t threads_;
};

}  // namespace

std::unique_ptr<Encoders> encoders_here(std::unique_ptr<Encoder> encoder, std::uint32_t threads) {
  return std::make_unique<Here>(std::move(encoder), threads);
}

}  // namespace packline

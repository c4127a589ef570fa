#include "lib/encode/pool.h"

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/unit/encode/requests.h"

using namespace packline;
using namespace packline::test;

namespace {

// Encodes a record as its bytes in `text`, after waiting for as long as the gate is shut.
class GatedEncoder final : public Encoder {
 public:
  Encoded encode(const EncodeRequest& request) const override {
    std::unique_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_ || request.bytes != "wait"; });
    ++encoded_;
    Encoded e;
    e.lost = true;
    e.text = std::string(request.bytes) + "|" + request.id + "|" + std::to_string(request.seed);
    return e;
  }
  std::string identity() const override { return "gated"; }

  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_until_begun(int n) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_ >= n; });
  }
  int encoded() const {
    const std::lock_guard lock(mutex_);
    return encoded_;
  }
  std::size_t threads() const {
    const std::lock_guard lock(mutex_);
    return threads_.size();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable bool open_ = false;
  mutable int begun_ = 0, encoded_ = 0;
  mutable std::set<std::thread::id> threads_;
};

EncodePool::Group group(std::initializer_list<std::string> bytes) {
  EncodePool::Group g;
  for (const std::string& b : bytes) {
    g.push_back({b, &source_of(Format::kText), "s0:" + b, b.size()});
  }
  return g;
}

// The next group that is done; waits for it.
EncodePool::Done next(EncodePool& pool) {
  for (;;) {
    auto done = pool.take();
    REQUIRE(done.has_value());
    if (*done) return std::move(**done);
    pool.wait();
  }
}

}  // namespace

TEST_CASE("ThreadPool: what an encoder throws costs its record, not the process") {
  class Throws final : public Encoder {
   public:
    Encoded encode(const EncodeRequest& request) const override {
      if (request.bytes == "bad") throw std::runtime_error("no such piece");
      return {};
    }
    std::string identity() const override { return "throws"; }
  } const encoder;
  ThreadPool pool(encoder, 2);
  pool.submit(group({"good", "bad", "good"}));
  const std::vector<Encoded> out = next(pool).records;
  REQUIRE(out.size() == 3);
  CHECK_FALSE(out[0].lost);
  CHECK(out[1].lost);
  CHECK(out[1].reason == RecordLoss::kEncode);
  CHECK(out[1].text == "the encoder failed: no such piece");
  CHECK_FALSE(out[2].lost);
}

TEST_CASE(
    "ThreadPool: a group is given back as soon as it is done, whatever was submitted before") {
  GatedEncoder encoder;
  ThreadPool pool(encoder, 2);
  const std::uint64_t slow = pool.submit(group({"wait"}));
  encoder.wait_until_begun(1);
  const std::uint64_t quick = pool.submit(group({"b", "cc"}));
  const EncodePool::Done first = next(pool);
  CHECK(first.group == quick);
  REQUIRE(first.records.size() == 2);
  CHECK(first.records[0].text == "b|s0:b|1");
  CHECK(first.records[1].text == "cc|s0:cc|2");
  CHECK(!pool.take()->has_value());
  CHECK(pool.outstanding() == 1);
  encoder.open();
  const EncodePool::Done second = next(pool);
  CHECK(second.group == slow);
  CHECK(second.records.at(0).text == "wait|s0:wait|4");
  CHECK(pool.outstanding() == 0);
  CHECK(encoder.threads() == 2);
}

TEST_CASE("ThreadPool: whoever waits can be woken, and a wake that comes first is not lost") {
  GatedEncoder encoder;
  ThreadPool pool(encoder, 1);
  pool.wake();
  pool.wait();
  pool.submit(group({"wait"}));
  std::thread other([&] { pool.wake(); });
  pool.wait();
  other.join();
  CHECK(!pool.take()->has_value());
  encoder.open();
  next(pool);
}

TEST_CASE("ThreadPool: any number of threads gives the same as one") {
  const auto encoder = made({.kind = EncodeKind::kBytes});
  std::vector<std::vector<std::int32_t>> expected;
  for (const unsigned threads : {1u, 2u, 4u}) {
    ThreadPool pool(*encoder, threads);
    std::map<std::uint64_t, std::vector<std::vector<std::int32_t>>> by_group;
    auto take = [&] {
      EncodePool::Done done = next(pool);
      for (const Encoded& e : done.records) by_group[done.group].push_back(ids_of(e));
    };
    for (int g = 0; g < 200; ++g) {
      EncodePool::Group records;
      for (int i = 0; i < g % 5; ++i) {
        records.push_back({"{\"text\":\"" + std::to_string(g * 100 + i) + "\"}",
                           &source_of(Format::kText), "s0:1", 0});
      }
      if (pool.full()) take();
      pool.submit(std::move(records));
    }
    while (pool.outstanding() > 0) take();
    std::vector<std::vector<std::int32_t>> got;
    for (const auto& [group, ids] : by_group) got.insert(got.end(), ids.begin(), ids.end());
    CHECK(got.size() == 400);
    if (threads == 1) expected = got;
    CHECK(got == expected);
  }
}

TEST_CASE("ThreadPool: holds no more groups than its limit, and an empty group is a group") {
  GatedEncoder encoder;
  ThreadPool pool(encoder, 1, 2);
  CHECK(pool.limit() == 2);
  pool.submit({});
  CHECK_FALSE(pool.full());
  pool.submit(group({"a"}));
  CHECK(pool.full());
  CHECK(next(pool).records.empty());
  CHECK_FALSE(pool.full());
  CHECK(next(pool).records.size() == 1);
}

TEST_CASE("ThreadPool: ends with groups outstanding, dropping those that did not begin") {
  GatedEncoder encoder;
  {
    ThreadPool pool(encoder, 1);
    pool.submit(group({"wait"}));
    encoder.wait_until_begun(1);
    pool.submit(group({"never"}));
    encoder.open();
  }
  CHECK(encoder.encoded() <= 2);
  CHECK(encoder.encoded() >= 1);
}

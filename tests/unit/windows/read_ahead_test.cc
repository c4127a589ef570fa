#include "lib/windows/read_ahead.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <deque>
#include <map>
#include <optional>

#include "lib/windows/record_id.h"
#include "tests/unit/windows/support.h"

namespace packline {
namespace {

// Records "[<i>]", of which one cannot be read.
class ListSource : public Source {
 public:
  explicit ListSource(std::uint64_t records, std::uint64_t unreadable = UINT64_MAX)
      : records_(records), unreadable_(unreadable) {}
  std::uint64_t records() const override { return records_; }
  Result<RawRecord> read(std::uint64_t i, std::string& scratch) const override {
    if (i == unreadable_) return fail(ExitCode::kDataRefused, "the file shrank");
    scratch = fmt::format("[{}]", i % 10 + 1);
    return RawRecord{scratch, 0, i + 1};
  }
  const SourceSettings& settings() const override { return settings_; }
  std::string where(std::uint64_t i) const override { return fmt::format("list:{}", i + 1); }
  std::uint64_t content_hash() const override { return records_; }

 private:
  SourceSettings settings_;
  std::uint64_t records_, unreadable_;
};

struct Reading {
  explicit Reading(std::uint64_t records, std::uint64_t unreadable = UINT64_MAX) {
    sources.push_back(std::make_unique<ListSource>(records, unreadable));
    order = std::make_shared<const EpochOrder>(std::vector<SourceShare>{{records, 0, 1}},
                                               ShuffleSettings{ShuffleKind::kNone, 0}, 17, 0);
  }
  std::unique_ptr<EncodePool> pool(unsigned threads) const {
    return std::make_unique<ThreadPool>(encoder, threads);
  }
  Sources sources;
  std::shared_ptr<const EpochOrder> order;
  test::LengthsEncoder encoder;
};

// Keeps groups until the test gives them back, in the order that the test likes.
class HeldPool final : public EncodePool {
 public:
  std::size_t limit() const override { return 4; }
  std::size_t group_records() const override { return 10; }
  void wait() override { FAIL("nobody would wake this thread"); }
  void wake() override {}
  void give_back(std::uint64_t group) {
    Done done{group, {}};
    for (const PoolRecord& r : held.at(group)) {
      Encoded e;
      e.samples.ids = {r.id};
      e.samples.lengths = {1};
      done.records.push_back(std::move(e));
    }
    held.erase(group);
    done_.push_back(std::move(done));
  }
  std::map<std::uint64_t, Group> held;
  std::optional<Error> broken;

 private:
  void begin(std::uint64_t number, Group group) override { held[number] = std::move(group); }
  Result<std::optional<Done>> finished() override {
    if (broken) return tl::unexpected<Error>(*broken);
    if (done_.empty()) return std::nullopt;
    std::optional<Done> done(std::move(done_.front()));
    done_.pop_front();
    return done;
  }
  std::deque<Done> done_;
};

// All that a lane still gives, as the numbers of its records.
std::vector<std::uint64_t> rest(ReadAhead& ahead, std::uint32_t lane) {
  std::vector<std::uint64_t> numbers;
  while (ahead.more(lane)) {
    const auto record = ahead.next(lane);
    if (!record) break;
    numbers.push_back(record->number);
  }
  return numbers;
}

std::vector<std::uint64_t> run(std::uint64_t from, std::uint64_t to) {
  std::vector<std::uint64_t> numbers;
  for (; from < to; ++from) numbers.push_back(from);
  return numbers;
}

TEST_CASE("ReadAhead: a lane gives its records in order, from the head on") {
  Reading r(1000);
  ReadAhead ahead(r.sources, r.pool(2), 17, 3);
  ahead.restart(1, r.order, 0, {}, 5);
  const auto first = ahead.next(1);
  REQUIRE(first.has_value());
  CHECK(first->number == 5);
  CHECK(first->ref.record == 16);
  CHECK(first->encoded.samples.ids[0] == "s0:16");
  CHECK(rest(ahead, 1) == run(6, 333));
  CHECK(!ahead.more(1));
  CHECK(!ahead.more(0));
}

TEST_CASE("ReadAhead: carried records come first") {
  Reading r(100);
  ReadAhead ahead(r.sources, r.pool(1), 17, 1);
  ahead.restart(0, r.order, 0, {3, 7}, 97);
  CHECK(rest(ahead, 0) == std::vector<std::uint64_t>{3, 7, 97, 98, 99});
}

TEST_CASE("ReadAhead: what was filled for one lane waits while another is read") {
  Reading r(4000);
  ReadAhead ahead(r.sources, r.pool(1), 17, 2);
  ahead.restart(0, r.order, 0, {}, 0);
  ahead.restart(1, r.order, 0, {}, 0);
  for (std::uint64_t n = 0; n < 2000; ++n) {
    const std::uint32_t lane = n / 100 % 2;
    ahead.fill(1 - lane, 1000, false);
    ahead.fill(lane, 1000, true);
    const auto record = ahead.next(lane);
    REQUIRE(record.has_value());
    REQUIRE(record->number == n / 200 * 100 + n % 100);
  }
  CHECK(rest(ahead, 1) == run(1000, 2000));
  CHECK(rest(ahead, 0) == run(1000, 2000));
  CHECK(r.encoder.calls() == 4000);
}

TEST_CASE("ReadAhead: what nobody asks for stays within the pool's limit") {
  Reading r(100'000);
  ReadAhead ahead(r.sources, r.pool(1), 17, 2);
  ahead.restart(0, r.order, 0, {}, 0);
  ahead.restart(1, r.order, 0, {}, 0);
  for (int i = 0; i < 20'000; ++i) {
    ahead.fill(1, UINT64_MAX / 2, false);  // never asked for
    ahead.fill(0, 100, true);
    REQUIRE(ahead.next(0).has_value());
  }
  CHECK(r.encoder.calls() <= 20'000 + 3 * ThreadPool::groups_max(1) * ThreadPool::kGroupRecords);
}

TEST_CASE("ReadAhead: a group that takes its time holds up its own lane alone") {
  Reading r(1000);
  auto owned = std::make_unique<HeldPool>();
  HeldPool& pool = *owned;
  ReadAhead ahead(r.sources, std::move(owned), 17, 2);
  ahead.restart(0, r.order, 0, {}, 0);
  ahead.restart(1, r.order, 0, {}, 0);
  REQUIRE(!ahead.try_next(0)->has_value());  // group 1
  REQUIRE(!ahead.try_next(1)->has_value());  // group 2
  pool.give_back(2);
  for (std::uint64_t n = 0; n < 10; ++n) {
    const auto record = ahead.try_next(1);
    REQUIRE(record->has_value());
    CHECK((*record)->number == n);
    CHECK(!ahead.try_next(0)->has_value());
  }
  pool.give_back(1);
  CHECK((*ahead.try_next(0))->number == 0);
}

TEST_CASE("ReadAhead: groups of a lane that come back in another order are given in its own") {
  Reading r(100);
  auto owned = std::make_unique<HeldPool>();
  HeldPool& pool = *owned;
  ReadAhead ahead(r.sources, std::move(owned), 17, 1);
  ahead.restart(0, r.order, 0, {}, 70);
  ahead.fill(0, 100'000, true);
  REQUIRE(pool.held.size() == 3);
  for (const std::uint64_t group : {3, 1, 2}) pool.give_back(group);
  CHECK(rest(ahead, 0) == run(70, 100));
}

TEST_CASE("ReadAhead: what piles up behind a slow group is bounded") {
  Reading r(100'000);
  auto owned = std::make_unique<HeldPool>();
  HeldPool& pool = *owned;
  ReadAhead ahead(r.sources, std::move(owned), 17, 1);
  ahead.restart(0, r.order, 0, {}, 0);
  std::size_t given = 0;
  for (int i = 0; i < 1000; ++i) {
    ahead.fill(0, UINT64_MAX / 2, true);
    REQUIRE(!ahead.try_next(0)->has_value());
    while (pool.held.size() > 1) {
      pool.give_back(pool.held.rbegin()->first);
      ++given;
    }
  }
  CHECK(given <= 2 * pool.limit());
  pool.give_back(1);
  CHECK(ahead.try_next(0)->has_value());
}

TEST_CASE("ReadAhead: nobody who encodes any more is an error") {
  Reading r(100);
  auto owned = std::make_unique<HeldPool>();
  HeldPool& pool = *owned;
  ReadAhead ahead(r.sources, std::move(owned), 17, 1);
  ahead.restart(0, r.order, 0, {}, 0);
  CHECK(!ahead.try_next(0)->has_value());
  pool.broken = Error{ExitCode::kWrongJob, "no encoder can be started"};
  CHECK(ahead.try_next(0).error().text == "no encoder can be started");
}

TEST_CASE("ReadAhead: a lane that starts again forgets what was on its way") {
  Reading r(1000);
  ReadAhead ahead(r.sources, r.pool(2), 17, 1);
  ahead.restart(0, r.order, 0, {}, 0);
  ahead.fill(0, 1000, true);
  REQUIRE(ahead.next(0).has_value());
  ahead.restart(0, r.order, 0, {1}, 998);
  CHECK(rest(ahead, 0) == std::vector<std::uint64_t>{1, 998, 999});
  ahead.restart(0, r.order, 0, {}, 900);
  ahead.stop(0);
  CHECK(!ahead.more(0));
}

TEST_CASE("ReadAhead: a record that cannot be read is an error when its turn comes") {
  Reading r(1000, 70);
  ReadAhead ahead(r.sources, r.pool(2), 17, 1);
  ahead.restart(0, r.order, 0, {}, 0);
  ahead.fill(0, 100'000, true);
  for (int i = 0; i < 70; ++i) REQUIRE(ahead.next(0).has_value());
  const auto record = ahead.next(0);
  REQUIRE(!record);
  CHECK(record.error().text == "the file shrank");
}

TEST_CASE("record_id: copies are told apart") {
  CHECK(record_id({2, 0, 11}) == "s2:11");
  CHECK(record_id({2, 3, 11}) == "s2:11+3");
}

}  // namespace
}  // namespace packline

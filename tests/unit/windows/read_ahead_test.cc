#include "lib/windows/read_ahead.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

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
  Sources sources;
  std::shared_ptr<const EpochOrder> order;
  test::LengthsEncoder encoder;
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
  ReadAhead ahead(r.sources, r.encoder, 2, 17, 3);
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
  ReadAhead ahead(r.sources, r.encoder, 1, 17, 1);
  ahead.restart(0, r.order, 0, {3, 7}, 97);
  CHECK(rest(ahead, 0) == std::vector<std::uint64_t>{3, 7, 97, 98, 99});
}

TEST_CASE("ReadAhead: what was filled for one lane waits while another is read") {
  Reading r(4000);
  ReadAhead ahead(r.sources, r.encoder, 1, 17, 2);
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
  ReadAhead ahead(r.sources, r.encoder, 1, 17, 2);
  ahead.restart(0, r.order, 0, {}, 0);
  ahead.restart(1, r.order, 0, {}, 0);
  for (int i = 0; i < 20'000; ++i) {
    ahead.fill(1, UINT64_MAX / 2, false);  // never asked for
    ahead.fill(0, 100, true);
    REQUIRE(ahead.next(0).has_value());
  }
  CHECK(r.encoder.calls() <= 20'000 + 3 * ReadAhead::groups_max(1) * ReadAhead::kGroupRecords);
}

TEST_CASE("ReadAhead: a lane that starts again forgets what was on its way") {
  Reading r(1000);
  ReadAhead ahead(r.sources, r.encoder, 2, 17, 1);
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
  ReadAhead ahead(r.sources, r.encoder, 2, 17, 1);
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

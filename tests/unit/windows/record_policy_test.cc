#include "lib/windows/record_policy.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lib/delivery/ledger_check.h"
#include "tests/unit/windows/support.h"

namespace packline {
namespace {

// Samples of 3, 0 and 5 tokens with a column of each kind.
Encoded encoded() {
  Encoded e;
  e.samples.ids = {"a/0", "a/1", "a/2"};
  e.samples.lengths = {3, 0, 5};
  e.samples.columns = {
      {"image",
       DType::kI8,
       ColumnKind::kRagged,
       {2},
       Buffer::of(std::vector<std::int8_t>{1, 2, 3, 4}),
       {1, 0, 1}},
      {"input_ids",
       DType::kI32,
       ColumnKind::kPerToken,
       {},
       Buffer::of(std::vector<std::int32_t>{1, 2, 3, 11, 12, 13, 14, 15}),
       {}},
      {"labels",
       DType::kI32,
       ColumnKind::kSpans,
       {},
       Buffer::of(std::vector<std::uint32_t>{0, 2, 0, 1, 2, 5}),
       {1, 0, 2}},
  };
  return e;
}

const RecordPlace kPlace{7, "data.jsonl:12", "s0:11"};

RecordPolicy policy(std::uint32_t capacity, OverLong over_long,
                    BadRecord on_bad_record = BadRecord::kStop) {
  RecordPolicy p;
  p.capacity = capacity;
  p.over_long = over_long;
  p.on_bad_record = on_bad_record;
  return p;
}

using Ids = std::vector<std::string>;
using Counts = std::vector<std::uint32_t>;

std::vector<std::int32_t> ids_of(const Samples& s) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < s.tokens(); ++i)
    ids.push_back(s.find("input_ids")->data.at<std::int32_t>(i));
  return ids;
}

// L4 for one record: what is packed, lost and truncated is what was made.
void check_balance(const JudgedRecord& judged) {
  std::uint64_t tokens = 0;
  for (const std::uint32_t i : judged.packable) tokens += judged.samples.lengths[i];
  const Status balanced = check_ledger(judged.ledger, judged.packable.size(), tokens);
  CHECK_MESSAGE(balanced.has_value(), (balanced ? "" : balanced.error().text));
  CHECK(check_samples(judged.samples).has_value());
  std::uint64_t lost = 0, lost_tokens = 0;
  for (const Loss& loss : judged.losses) {
    ++lost;
    lost_tokens += loss.tokens;
    CHECK(loss.where == kPlace.where);
    CHECK(loss.lane_record == kPlace.number);
    CHECK(!loss.cause.empty());
  }
  CHECK(lost == test::sum(judged.ledger.samples_lost));
  CHECK(lost_tokens == test::sum(judged.ledger.tokens_lost));
}

TEST_CASE("judge: an empty sample is lost, the others go on") {
  const auto judged = judge(policy(8, OverLong::kDrop, BadRecord::kStop), kPlace, encoded());
  REQUIRE(judged.has_value());
  CHECK(judged->number == 7);
  CHECK(judged->packable == std::vector<std::uint32_t>{0, 2});
  CHECK(judged->ledger.records_encoded == 1);
  CHECK(judged->ledger.samples_made == 3);
  CHECK(judged->ledger.tokens_made == 8);
  CHECK(judged->ledger.samples_lost[0] == 1);
  REQUIRE(judged->losses.size() == 1);
  CHECK(judged->losses[0].reason == "empty");
  CHECK(judged->losses[0].id == "a/1");
  CHECK(judged->losses[0].where == "data.jsonl:12");
  CHECK(judged->losses[0].lane_record == 7);
}

TEST_CASE("judge: an over-long sample is dropped with its tokens counted") {
  const auto judged = judge(policy(4, OverLong::kDrop, BadRecord::kStop), kPlace, encoded());
  REQUIRE(judged.has_value());
  CHECK(judged->packable == std::vector<std::uint32_t>{0});
  CHECK(judged->ledger.samples_lost[1] == 1);
  CHECK(judged->ledger.tokens_lost[1] == 5);
  CHECK(judged->ledger.tokens_truncated == 0);
  CHECK(judged->losses[1].tokens == 5);
  CHECK(judged->losses[1].cause == "the sample has 5 tokens, more than the capacity of 4");
}

TEST_CASE("judge: truncate_right keeps the first tokens in every column and counts the others") {
  const auto judged =
      judge(policy(4, OverLong::kTruncateRight, BadRecord::kStop), kPlace, encoded());
  REQUIRE(judged.has_value());
  CHECK(judged->packable == std::vector<std::uint32_t>{0, 2});
  CHECK(judged->ledger.tokens_truncated == 1);
  CHECK(judged->losses.size() == 1);  // the empty one
  const Samples& s = judged->samples;
  REQUIRE(check_samples(s).has_value());
  CHECK(s.lengths == std::vector<std::uint32_t>{3, 0, 4});
  CHECK(s.find("input_ids")->data.size() == 7 * 4);
  CHECK(s.find("input_ids")->data.at<std::int32_t>(6) == 14);
  CHECK(s.find("image")->rows == std::vector<std::uint32_t>{1, 0, 1});
  CHECK(s.find("labels")->rows == std::vector<std::uint32_t>{1, 0, 2});
  CHECK(s.find("labels")->data.at<std::uint32_t>(5) == 4);
  CHECK(labels_of(s) == std::vector<std::int32_t>{-100, 2, -100, -100, -100, 13, 14});
}

TEST_CASE("judge: truncate_left keeps the last tokens, the id and what is not per token") {
  const auto judged = judge(policy(4, OverLong::kTruncateLeft), kPlace, encoded());
  REQUIRE(judged.has_value());
  check_balance(*judged);
  CHECK(judged->packable == Counts{0, 2});
  CHECK(judged->ledger.tokens_truncated == 1);
  CHECK(judged->ledger.samples_made == 3);
  const Samples& s = judged->samples;
  CHECK(s.ids == Ids{"a/0", "a/1", "a/2"});
  CHECK(s.lengths == Counts{3, 0, 4});
  CHECK(ids_of(s) == std::vector<std::int32_t>{1, 2, 3, 12, 13, 14, 15});
  CHECK(s.find("image")->rows == Counts{1, 0, 1});
  CHECK(s.find("image")->data.at<std::int8_t>(2) == 3);
  // Spans [0, 1) and [2, 5) of five tokens, without the first of them.
  CHECK(s.find("labels")->rows == Counts{1, 0, 1});
  CHECK(s.find("labels")->data.at<std::uint32_t>(2) == 1);
  CHECK(s.find("labels")->data.at<std::uint32_t>(3) == 4);
}

TEST_CASE("judge: split makes pieces of their own, rows stay with the first") {
  const auto judged = judge(policy(2, OverLong::kSplit), kPlace, encoded());
  REQUIRE(judged.has_value());
  check_balance(*judged);
  const Samples& s = judged->samples;
  CHECK(s.ids == Ids{"a/0", "a/0~2", "a/1", "a/2", "a/2~2", "a/2~4"});
  CHECK(s.lengths == Counts{2, 1, 0, 2, 2, 1});
  CHECK(judged->packable == Counts{0, 1, 3, 4, 5});
  CHECK(judged->ledger.samples_made == 6);
  CHECK(judged->ledger.tokens_made == 8);
  CHECK(judged->ledger.tokens_truncated == 0);
  CHECK(ids_of(s) == ids_of(encoded().samples));
  CHECK(s.find("image")->rows == Counts{1, 0, 0, 1, 0, 0});
  CHECK(s.find("labels")->rows == Counts{1, 0, 0, 1, 1, 1});
  REQUIRE(judged->losses.size() == 1);
  CHECK(judged->losses[0].id == "a/1");
}

TEST_CASE("judge: split at exact multiples of the capacity leaves no empty piece") {
  Encoded whole;
  whole.samples.ids = {"b"};
  whole.samples.lengths = {6};
  whole.samples.columns = {{"input_ids",
                            DType::kI32,
                            ColumnKind::kPerToken,
                            {},
                            Buffer::of(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}),
                            {}}};
  const auto judged = judge(policy(3, OverLong::kSplit), kPlace, whole);
  REQUIRE(judged.has_value());
  check_balance(*judged);
  CHECK(judged->samples.ids == Ids{"b", "b~3"});
  CHECK(judged->samples.lengths == Counts{3, 3});
}

TEST_CASE("judge: drop_unsupervised loses what carries no loss, the first token never does") {
  RecordPolicy p = policy(8, OverLong::kDrop);
  p.drop_unsupervised = true;
  Encoded e = encoded();
  // a/0 is trained on its first token alone, which no trainer sees; a/2 on others.
  e.samples.columns[2].data = Buffer::of(std::vector<std::uint32_t>{0, 1, 0, 1, 2, 5});
  const auto judged = judge(p, kPlace, e);
  REQUIRE(judged.has_value());
  check_balance(*judged);
  CHECK(judged->packable == Counts{2});
  constexpr auto kUnsupervised = static_cast<std::size_t>(SampleLoss::kUnsupervised);
  CHECK(judged->ledger.samples_lost[kUnsupervised] == 1);
  CHECK(judged->ledger.tokens_lost[kUnsupervised] == 3);
  REQUIRE(judged->losses.size() == 2);
  CHECK(judged->losses[1].id == "a/0");
  CHECK(judged->losses[1].reason == "unsupervised");
  CHECK(judged->losses[1].cause == "no token of the sample carries loss");
  p.drop_unsupervised = false;
  CHECK(judge(p, kPlace, e)->packable == Counts{0, 2});
}

TEST_CASE("judge: drop_unsupervised looks at what is left of a sample") {
  RecordPolicy p = policy(2, OverLong::kSplit);
  p.drop_unsupervised = true;
  const auto split = judge(p, kPlace, encoded());  // a piece's first token is not trained either
  REQUIRE(split.has_value());
  check_balance(*split);
  // a/0 [0,2): 2 is trained; a/0~2, a/2~4: one token; a/2 [0,1): the first only.
  CHECK(split->packable == Counts{0, 4});
  CHECK(split->ledger.samples_made == 6);
  Ids lost;
  for (const Loss& loss : split->losses) lost.push_back(loss.id + " " + loss.reason);
  CHECK(lost == Ids{"a/1 empty", "a/0~2 unsupervised", "a/2 unsupervised", "a/2~4 unsupervised"});
  p.over_long = OverLong::kTruncateRight;
  const auto truncated = judge(p, kPlace, encoded());
  REQUIRE(truncated.has_value());
  check_balance(*truncated);
  CHECK(truncated->packable == Counts{0});
  CHECK(truncated->ledger.tokens_truncated == 4);
  CHECK(truncated->ledger.tokens_lost[2] == 2);
}

TEST_CASE("RecordPolicy: samples of any length are packed where the token stream is cut") {
  Job job;
  job.pack.capacity = 4;
  job.pack.drop_unsupervised = true;
  CHECK(RecordPolicy(job).capacity == 4);
  CHECK(RecordPolicy(job).drop_unsupervised);
  job.pack.strategy = Strategy::kWrapped;
  const RecordPolicy wrapped(job);
  const auto judged = judge(wrapped, kPlace, encoded());
  REQUIRE(judged.has_value());
  CHECK(judged->packable == Counts{0, 2});
  CHECK(judged->samples.lengths == Counts{3, 0, 5});
}

TEST_CASE("judge: over_long: error names place, sample, length and capacity") {
  const auto judged = judge(policy(4, OverLong::kError, BadRecord::kQuarantine), kPlace, encoded());
  REQUIRE(!judged);
  CHECK(judged.error().code == ExitCode::kDataRefused);
  for (const char* part : {"data.jsonl:12", "a/2", "5 tokens", "capacity of 4"}) {
    CHECK(judged.error().text.find(part) != std::string::npos);
  }
}

TEST_CASE("judge: a bad record is lost or stops the job, as the job says") {
  Encoded bad;
  bad.lost = true;
  bad.reason = RecordLoss::kEncode;
  bad.text = "the key \"text\" is missing.";
  const auto lost = judge(policy(4, OverLong::kDrop, BadRecord::kQuarantine), kPlace, bad);
  REQUIRE(lost.has_value());
  CHECK(lost->ledger.records_read == 1);
  CHECK(lost->ledger.records_encoded == 0);
  CHECK(lost->ledger.records_lost[1] == 1);
  CHECK(lost->losses[0].reason == "encode");
  CHECK(lost->losses[0].id == "s0:11");
  CHECK(lost->losses[0].cause == bad.text);
  const auto stopped = judge(policy(4, OverLong::kDrop, BadRecord::kStop), kPlace, bad);
  REQUIRE(!stopped);
  CHECK(stopped.error().code == ExitCode::kDataRefused);
  CHECK(stopped.error().text.starts_with("data.jsonl:12: the key \"text\" is missing."));
}

TEST_CASE("worth_a_word: exactly the records that judge() names") {
  const RecordPolicy strict = policy(4, OverLong::kDrop, BadRecord::kStop);
  Encoded e;
  CHECK(!worth_a_word(strict, e));
  e.samples.lengths = {1, 4};
  CHECK(!worth_a_word(strict, e));
  e.samples.lengths = {1, 5};
  CHECK(worth_a_word(strict, e));
  e.samples.lengths = {0};
  CHECK(worth_a_word(strict, e));
  e.samples.lengths = {};
  e.lost = true;
  CHECK(worth_a_word(strict, e));
  e = {};
  e.samples.lengths = {1, 4};
  RecordPolicy supervised = strict;
  supervised.drop_unsupervised = true;
  CHECK(worth_a_word(supervised, e));
}

}  // namespace
}  // namespace packline

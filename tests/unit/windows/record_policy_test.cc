#include "lib/windows/record_policy.h"

#include <doctest/doctest.h>

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
       Buffer::of(std::vector<std::uint32_t>{0, 2, 0, 1, 2, 5, 4, 5}),
       {1, 0, 3}},
  };
  return e;
}

const RecordPlace kPlace{7, "data.jsonl:12", "s0:11"};

TEST_CASE("judge: an empty sample is lost, the others go on") {
  const auto judged = judge({8, OverLong::kDrop, BadRecord::kStop}, kPlace, encoded());
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
  const auto judged = judge({4, OverLong::kDrop, BadRecord::kStop}, kPlace, encoded());
  REQUIRE(judged.has_value());
  CHECK(judged->packable == std::vector<std::uint32_t>{0});
  CHECK(judged->ledger.samples_lost[1] == 1);
  CHECK(judged->ledger.tokens_lost[1] == 5);
  CHECK(judged->ledger.tokens_truncated == 0);
  CHECK(judged->losses[1].tokens == 5);
  CHECK(judged->losses[1].cause == "the sample has 5 tokens, more than the capacity of 4");
}

TEST_CASE("judge: truncate_right keeps the first tokens in every column and counts the others") {
  const auto judged = judge({4, OverLong::kTruncateRight, BadRecord::kStop}, kPlace, encoded());
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

TEST_CASE("judge: over_long: error names place, sample, length and capacity") {
  const auto judged = judge({4, OverLong::kError, BadRecord::kQuarantine}, kPlace, encoded());
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
  const auto lost = judge({4, OverLong::kDrop, BadRecord::kQuarantine}, kPlace, bad);
  REQUIRE(lost.has_value());
  CHECK(lost->ledger.records_read == 1);
  CHECK(lost->ledger.records_encoded == 0);
  CHECK(lost->ledger.records_lost[1] == 1);
  CHECK(lost->losses[0].reason == "encode");
  CHECK(lost->losses[0].id == "s0:11");
  CHECK(lost->losses[0].cause == bad.text);
  const auto stopped = judge({4, OverLong::kDrop, BadRecord::kStop}, kPlace, bad);
  REQUIRE(!stopped);
  CHECK(stopped.error().code == ExitCode::kDataRefused);
  CHECK(stopped.error().text.starts_with("data.jsonl:12: the key \"text\" is missing."));
}

TEST_CASE("worth_a_word: exactly the records that judge() names") {
  const RecordPolicy policy{4, OverLong::kDrop, BadRecord::kStop};
  Encoded e;
  CHECK(!worth_a_word(policy, e));
  e.samples.lengths = {1, 4};
  CHECK(!worth_a_word(policy, e));
  e.samples.lengths = {1, 5};
  CHECK(worth_a_word(policy, e));
  e.samples.lengths = {0};
  CHECK(worth_a_word(policy, e));
  e.samples.lengths = {};
  e.lost = true;
  CHECK(worth_a_word(policy, e));
}

}  // namespace
}  // namespace packline

#include "launcher/summary.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace packline {
namespace {

// Two ranks, one epoch of 10 records: 8 samples of 5 tokens in 4 packs of 16.
Job two_ranks() {
  Job job;
  job.name = "job\xff";
  job.epochs = 1;
  job.pack.capacity = 16;
  job.deliver.dp_size = 2;
  return job;
}

Ledger ledger() {
  Ledger l;
  l.records_read = 10;
  l.records_encoded = 9;
  l.records_lost = {1, 0, 0};
  l.samples_made = 9;
  l.tokens_made = 65;
  l.samples_lost = {0, 1, 0, 0};
  l.tokens_lost = {0, 25, 0, 0};
  return l;
}

RankProgress rank(std::uint32_t r) {
  RankProgress p;
  p.dp_rank = r;
  p.progress.to = {1, 0, 0};
  p.progress.total = {2, 4, 20, 100 + r, ledger()};
  p.progress.epochs = {{0, p.progress.total}};
  return p;
}

TEST_CASE("Summary: what the ranks told is added up, ledgers are everybody's") {
  const Summary s = summarise(two_ranks(), {rank(0), rank(1)});
  CHECK(s.whole);
  CHECK(s.total.packs == 4);
  CHECK(s.total.samples == 8);
  CHECK(s.total.tokens == 40);
  CHECK(s.total.ledger == ledger());
  CHECK(s.total.digest_by_rank == std::map<std::uint32_t, std::uint64_t>{{0, 100}, {1, 101}});
  REQUIRE(s.epochs.size() == 1);
  CHECK(s.epochs[0].counts.packs == 4);
}

TEST_CASE("Summary: a rank that is missing, began late or ended early makes it a part") {
  CHECK_FALSE(summarise(two_ranks(), {rank(0)}).whole);
  RankProgress late = rank(1), early = rank(1);
  late.progress.from = {0, 1, 0};
  CHECK_FALSE(summarise(two_ranks(), {rank(0), late}).whole);
  early.progress.to = {0, 3, 0};
  CHECK_FALSE(summarise(two_ranks(), {rank(0), early}).whole);
  CHECK_FALSE(summarise(two_ranks(), {}).whole);
}

// Laws L3 and L4.
TEST_CASE("Summary: epochs that break a law are named with both numbers") {
  const Job job = two_ranks();
  CHECK(check_epochs(job, {rank(0), rank(1)}));
  CHECK(check_epochs(job, {}));

  RankProgress other = rank(1);
  other.progress.epochs[0].tally.ledger.records_read = 11;
  Status bad = check_epochs(job, {rank(0), other});
  REQUIRE(!bad);
  CHECK(bad.error().code == ExitCode::kBug);
  CHECK(bad.error().text == "epoch 0: ranks 0 and 1 were told different ledgers");

  other = rank(1);
  other.progress.epochs[0].tally.packs = 3;
  bad = check_epochs(job, {rank(0), other});
  REQUIRE(!bad);
  CHECK(bad.error().text == "epoch 0: rank 0 got 2 packs of 5 over 2 ranks");

  other = rank(1);
  other.progress.epochs[0].tally.samples = 5;
  bad = check_epochs(job, {rank(0), other});
  REQUIRE(!bad);
  CHECK(bad.error().text.find("epoch 0: the ledger does not balance: samples: 9 came in, but 10") ==
        0);

  other.progress.to = {0, 9, 0};  // it is not through: nothing is claimed of it yet
  CHECK(check_epochs(job, {rank(0), other}));
}

TEST_CASE("Summary: more than 1 % lost is said aloud, less is not") {
  const Job job = two_ranks();
  Counts c;
  c.ledger.records_read = c.ledger.samples_made = 1000;
  c.ledger.tokens_made = 100000;
  CHECK(loss_warnings(job, c).empty());
  c.ledger.samples_lost = {0, 10, 0, 0};
  c.ledger.records_lost = {10, 0, 0};
  c.ledger.tokens_truncated = 1000;
  CHECK(loss_warnings(job, c).empty());  // 1 % exactly
  c.ledger.samples_lost = {0, 11, 0, 0};
  CHECK(loss_warnings(job, c).find("1.1 % of the samples (11 of 1000), 0.0 % of the tokens, are "
                                   "longer than pack.capacity 16") != std::string::npos);
  c.ledger = {};
  c.ledger.tokens_made = 100;
  c.ledger.tokens_truncated = 2;
  CHECK(loss_warnings(job, c).find("2.0 % of the tokens were cut off") != std::string::npos);
  c.ledger = {};
  c.ledger.records_read = 100;
  c.ledger.records_lost = {1, 1, 1};
  CHECK(loss_warnings(job, c).find("3.0 % of the records (3 of 100) could not be") !=
        std::string::npos);
}

TEST_CASE("Summary: as JSON it is JSON whatever the names are") {
  Summary s = summarise(two_ranks(), {rank(0), rank(1)});
  s.quarantine = "/state/\xfe";
  const auto j = nlohmann::json::parse(summary_json(two_ranks(), s));
  CHECK(j.at("job") == "job\xEF\xBF\xBD");
  CHECK(j.at("packs_per_rank") == 2);
  CHECK(j.at("fill") == doctest::Approx(40.0 / 64));
  CHECK(j.at("lost").at("over_long") == 1);
  CHECK(j.at("stream_digest") == "00000000000000c9");
}

}  // namespace
}  // namespace packline

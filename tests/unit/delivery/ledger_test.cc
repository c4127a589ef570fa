#include "lib/delivery/ledger.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

Ledger every_field(std::uint64_t from) {
  Ledger l;
  l.records_read = from++;
  l.records_encoded = from++;
  for (auto& x : l.records_lost) x = from++;
  l.samples_made = from++;
  l.tokens_made = from++;
  for (auto& x : l.samples_lost) x = from++;
  for (auto& x : l.tokens_lost) x = from++;
  l.tokens_truncated = from++;
  l.samples_repeated = from++;
  l.tokens_repeated = from++;
  return l;
}

TEST_CASE("Ledger: adding adds every field") {
  Ledger twice = every_field(1);
  twice += every_field(1);
  Ledger expected;
  for (int i = 0; i < 2; ++i) expected += every_field(1);
  CHECK(twice == expected);
  CHECK(twice.records_read == 2);
  CHECK(twice.records_lost[kRecordLosses - 1] == 10);
  CHECK(twice.samples_lost[kSampleLosses - 1] == 22);
  CHECK(twice.tokens_lost[0] == 24);
  CHECK(twice.tokens_repeated == 2 * every_field(1).tokens_repeated);
  CHECK(Ledger{} != twice);
}

TEST_CASE("Ledger: what was lost in all") {
  const Ledger l = every_field(1);
  CHECK(l.records_lost_in_all() == 3 + 4 + 5);
  CHECK(l.samples_lost_in_all() == 8 + 9 + 10 + 11);
  CHECK(l.tokens_lost_in_all() == 12 + 13 + 14 + 15);
}

TEST_CASE("Ledger: a tally adds its digest modulo 2^64") {
  Tally a{1, 2, 3, UINT64_MAX, every_field(1)};
  a += Tally{10, 20, 30, 2, every_field(5)};
  Ledger both = every_field(1);
  both += every_field(5);
  CHECK(a == Tally{11, 22, 33, 1, both});
}

TEST_CASE("Ledger: the words of the summary and the quarantine") {
  CHECK(name_of(RecordLoss::kParse) == "parse");
  CHECK(name_of(RecordLoss::kEncode) == "encode");
  CHECK(name_of(RecordLoss::kEncoderKilled) == "encoder_killed");
  CHECK(name_of(SampleLoss::kEmpty) == "empty");
  CHECK(name_of(SampleLoss::kOverLong) == "over_long");
  CHECK(name_of(SampleLoss::kUnsupervised) == "unsupervised");
  CHECK(name_of(SampleLoss::kRemainder) == "remainder");
}

}  // namespace
}  // namespace packline

#include "lib/delivery/ledger_check.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

// 10 records, 2 bad; 12 samples of 100 tokens in all, 3 lost with 30, 5 cut; 1 of 4 repeated.
Ledger balanced() {
  Ledger l;
  l.records_read = 10;
  l.records_encoded = 8;
  l.records_lost = {1, 1, 0};
  l.samples_made = 12;
  l.tokens_made = 100;
  l.samples_lost = {1, 2, 0, 0};
  l.tokens_lost = {0, 30, 0, 0};
  l.tokens_truncated = 5;
  l.samples_repeated = 1;
  l.tokens_repeated = 4;
  return l;
}

bool says(const Status& s, const char* part) {
  return s.error().text.find(part) != std::string::npos;
}

// L4: "Three ledgers are exact in every epoch, and checked at its end."
TEST_CASE("check_ledger: a ledger that balances passes") {
  CHECK(check_ledger(balanced(), 10, 69).has_value());
  CHECK(check_ledger({}, 0, 0).has_value());
}

TEST_CASE("check_ledger: each identity is named with both numbers when it is broken") {
  Ledger l = balanced();
  l.records_encoded = 9;
  const Status records = check_ledger(l, 10, 69);
  REQUIRE(!records);
  CHECK(records.error().code == ExitCode::kBug);
  CHECK(says(records, "records: 10 came in, but 11 are accounted for (9 encoded + 2 lost)"));
  CHECK(!says(records, "samples:"));

  const Status samples = check_ledger(balanced(), 9, 69);
  REQUIRE(!samples);
  CHECK(says(samples, "samples: 13 came in, but 12 are accounted for (9 delivered + 3 lost)"));

  const Status tokens = check_ledger(balanced(), 10, 70);
  REQUIRE(!tokens);
  CHECK(says(tokens,
             "tokens: 104 came in, but 105 are accounted for (70 delivered + 5 truncated "
             "+ 30 of lost samples)"));
}

TEST_CASE("check_ledger: all that is broken is named at once") {
  const Status both = check_ledger(balanced(), 11, 68);
  REQUIRE(!both);
  CHECK(says(both, "samples:"));
  CHECK(says(both, "tokens:"));
}

}  // namespace
}  // namespace packline

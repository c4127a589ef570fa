#include "producer/reports.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

using std::chrono::seconds;
using Verdict = RankReports::Verdict;

Instant at(int s) { return Instant{seconds(s)}; }

Report report(std::uint64_t session, std::uint64_t seq, bool live = true, std::uint64_t heard = 0) {
  Report r;
  r.session = session;
  r.seq = seq;
  r.live = live;
  if (heard > 0) r.heard = Heard{TrainerSession{0, heard, 0}, 1};
  return r;
}

// P1: "Newest report of a rank: same sink session: higher seq. Another session: only if it is live
// and its `heard` is higher, or it is live and the present one is not, or the present one has been
// silent."
TEST_CASE("Reports: of one life the higher number is newer, whenever it comes") {
  RankReports r(seconds(3));
  CHECK(r.take(report(1, 5), at(0)) == Verdict::kNewer);
  CHECK(r.take(report(1, 4), at(1)) == Verdict::kStale);
  CHECK(r.take(report(1, 5), at(1)) == Verdict::kStale);
  CHECK(r.all().at(0).at == at(0));
  CHECK(r.take(report(1, 6), at(2)) == Verdict::kNewer);
}

TEST_CASE("Reports: another life takes over when its trainer spoke to it last") {
  RankReports r(seconds(3));
  r.take(report(1, 50, true, 10), at(0));
  CHECK(r.take(report(2, 1, true, 9), at(1)) == Verdict::kStale);
  CHECK(r.take(report(2, 2, false, 11), at(1)) == Verdict::kStale);  // has no trainer
  CHECK(r.take(report(2, 3, true, 11), at(1)) == Verdict::kNewSession);
  CHECK(r.take(report(1, 51, true, 10), at(1)) == Verdict::kStale);
}

TEST_CASE("Reports: a life with a trainer takes over from one without") {
  RankReports r(seconds(3));
  r.take(report(1, 50, false, 10), at(0));
  CHECK(r.take(report(2, 1, true, 9), at(1)) == Verdict::kNewSession);
}

TEST_CASE("Reports: any life takes over from one that has gone silent") {
  RankReports r(seconds(3));
  r.take(report(1, 50, true, 10), at(0));
  CHECK(r.take(report(2, 1, false), at(3)) == Verdict::kStale);
  CHECK(r.take(report(2, 2, false), at(4)) == Verdict::kNewSession);
}

TEST_CASE("Reports: the slowest rank has the lowest place, ranks without a place do not count") {
  RankReports r(seconds(3));
  CHECK_FALSE(r.slowest_in(0));
  Report a = report(1, 1), b = report(2, 1), c = report(3, 1);
  a.dp_rank = 0;
  b.dp_rank = 1;
  b.lanes = {{0, {1, 0, ""}}, {2, {0, 7, "p"}}};
  c.dp_rank = 2;
  c.lanes = {{0, {0, 4, "q"}}, {2, {1, 0, ""}}};
  r.take(a, at(0));
  CHECK_FALSE(r.slowest_in(0));
  r.take(b, at(0));
  r.take(c, at(0));
  CHECK(r.slowest_in(0) == 2);
  CHECK(r.slowest_in(2) == 1);
  CHECK_FALSE(r.slowest_in(4));
}

}  // namespace
}  // namespace packline

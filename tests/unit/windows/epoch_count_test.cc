#include "lib/windows/epoch_count.h"

#include <doctest/doctest.h>

#include <numeric>

#include "lib/delivery/digest.h"
#include "lib/delivery/ledger_check.h"
#include "tests/unit/windows/support.h"

namespace packline {
namespace {

using test::job_over;
using test::maker_of;
using test::random_job;
using test::sum;
using test::TempFolder;
using test::walk;

TEST_CASE("EpochCounter: the samples of a job counted by hand") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", "[10]\n[10]\n[6]\n[0]\nbad\n[16]\n[17]\n")});
  job.lanes = 1;
  job.shuffle.kind = ShuffleKind::kNone;
  const auto made = maker_of(job);
  EpochCounter counter(job, *made.maker);
  int losses = 0;
  std::uint64_t windows = 0;
  counter.on_loss = [&](const Loss&) { ++losses; };
  counter.on_window = [&](const EpochCount& c) { windows = c.windows; };
  const auto count = counter.count(0);
  REQUIRE(count.has_value());
  CHECK(count->windows == 1);
  CHECK(windows == 1);
  CHECK(losses == 3);
  CHECK(count->packs == 3);
  CHECK(count->steps() == 3);
  CHECK(count->samples == 4);
  CHECK(count->tokens == 42);
  CHECK(count->ledger.records_read == 7);
  CHECK(count->fill() == doctest::Approx(42.0 / 48));
  CHECK(count->packs_at_least() == 3);
  CHECK(count->next_fit_packs == 3);  // [10] [10 6] [16]
  CHECK(count->one_a_row_fill() == doctest::Approx(42.0 / 64));
  CHECK(count->lengths[11] == 1);  // 6 of 16
  CHECK(count->lengths[19] == 2);  // 10
  CHECK(count->lengths[31] == 1);  // 16
  CHECK(count->fills[19] == 2);
  CHECK(count->fills[12] == 1);  // 10 of 16
}

TEST_CASE("EpochCounter: an epoch without samples is all zero, its fills too") {
  const TempFolder folder;
  const Job job = job_over(folder, {folder.write("a", "")});
  const auto made = maker_of(job);
  const auto count = EpochCounter(job, *made.maker).count(0);
  REQUIRE(count.has_value());
  CHECK(count->windows == 2);
  CHECK(count->packs == 0);
  CHECK(count->fill() == 0);
  CHECK(count->best_fill() == 0);
  CHECK(count->stream_digest == 0);
}

// L1: "the stream digest ... can be recomputed from what the ranks received, and does not depend on
// dp_size." L3: "Every rank gets the same number of packs."
TEST_CASE("EpochCounter: digests are those of the packs, whatever dp_size") {
  for (std::uint64_t seed = 300; seed < 330; ++seed) {
    CAPTURE(seed);
    const TempFolder folder;
    Job job = random_job(folder, seed);
    job.pack.dp_size_multiple = job.deliver.dp_size = 2;
    job.pack.packs_per_window = 6;
    const auto made = maker_of(job);
    const auto two = EpochCounter(job, *made.maker).count(1);
    REQUIRE(two.has_value());
    std::uint64_t digest = 0;
    for (const auto& step : walk(*made.maker, job, 1)) {
      const std::uint64_t number = step.window.key.index * job.lanes + step.lane;
      std::uint32_t next = 0;
      for (std::size_t k = 0; k < step.window.packs.size(); ++k) {
        std::vector<std::uint32_t> chosen(step.window.packs[k]);
        std::iota(chosen.begin(), chosen.end(), next);
        next += step.window.packs[k];
        digest += pack_digest(1, number, k, gather(step.window.samples, chosen));
      }
    }
    CHECK(two->stream_digest == digest);
    CHECK(two->ranks[0].packs == two->ranks[1].packs);
    CHECK(two->ranks[0].digest + two->ranks[1].digest == digest);
    CHECK(two->ranks[0].ledger == two->ledger);
    CHECK(two->samples == two->ranks[0].samples + two->ranks[1].samples);
    CHECK(check_ledger(two->ledger, two->samples, two->tokens).has_value());
    CHECK(sum(two->lengths) == two->samples);
    CHECK(sum(two->fills) == two->packs);
    CHECK(two->packs_at_least() <= two->packs);
    job.deliver.dp_size = 1;
    const auto one = EpochCounter(job, *made.maker).count(1);
    REQUIRE(one.has_value());
    CHECK(one->stream_digest == digest);
  }
}

TEST_CASE("EpochCounter: an error of a window is the count's") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", "bad\n")});
  job.on_bad_record = BadRecord::kStop;
  const auto made = maker_of(job);
  const auto count = EpochCounter(job, *made.maker).count(0);
  REQUIRE(!count);
  CHECK(count.error().code == ExitCode::kDataRefused);
}

}  // namespace
}  // namespace packline

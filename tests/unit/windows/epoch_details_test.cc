#include "lib/windows/epoch_details.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "lib/windows/epoch_count.h"
#include "tests/unit/windows/support.h"

namespace packline {
namespace {

using test::job_over;
using test::maker_of;
using test::random_job;
using test::TempFolder;

EpochCount counted(const Job& job, std::uint64_t epoch = 0) {
  const auto made = maker_of(job);
  Result<EpochCount> count = EpochCounter(job, *made.maker).count(epoch);
  REQUIRE(count.has_value());
  return std::move(*count);
}

TEST_CASE("FillSeries: a point a window, then two windows a point, and so on; no pack is lost") {
  FillSeries series;
  const std::size_t windows = 5 * FillSeries::kPoints + 3;
  for (std::size_t w = 0; w < windows; ++w) {
    series.add({2, w});
    CHECK(series.points().size() <= FillSeries::kPoints);
  }
  CHECK(series.windows_a_point() == 8);
  std::uint64_t packs = 0, tokens = 0;
  for (const auto& p : series.points()) {
    packs += p.packs;
    tokens += p.tokens;
  }
  CHECK(packs == 2 * windows);
  CHECK(tokens == windows * (windows - 1) / 2);
  CHECK(series.points()[0].tokens == 28);  // windows 0 to 7
}

TEST_CASE("origin_of: source and record of an id, whatever the record calls itself") {
  const auto plain = origin_of("s3:4711");
  REQUIRE(plain);
  CHECK(plain->source == 3);
  CHECK(plain->record == 4711);
  for (const char* id : {"s3:4711+2", "s3:4711/0", "mail@s1:2@s3:4711~8192", "@s3:4711*1"}) {
    CAPTURE(id);
    REQUIRE(origin_of(id));
    CHECK(origin_of(id)->record == 4711);
  }
  for (const char* id : {"", "s", "s3", "s3:", "x3:1", "s:1", "s99999999999999:1", "s3:1@"}) {
    CAPTURE(id);
    CHECK(!origin_of(id));
  }
}

TEST_CASE("EpochCounter: details of a job counted by hand") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", "[10]\n[6]\n[1]\n[17]\nbad\n"),
                              folder.write("b", "[16]\n[40]\n[21]\n")});
  job.lanes = 1;
  job.shuffle.kind = ShuffleKind::kNone;
  job.deliver.dp_size = 1;
  const EpochCount count = counted(job);
  const EpochDetails& d = count.details;
  CHECK(d.lengths.samples() == 7);  // with the three that are too long
  CHECK(d.lengths.longest() == 40);
  REQUIRE(d.sources.size() == 2);
  CHECK(d.sources[0].samples == 3);
  CHECK(d.sources[0].tokens == 17);
  CHECK(d.sources[1].samples == 1);
  CHECK(d.sources[1].lengths[31] == 1);
  CHECK(d.losses.at("parse").count == 1);
  const LossCount& over_long = d.losses.at("over_long");
  CHECK(over_long.count == 3);
  CHECK(over_long.tokens == 78);
  REQUIRE(over_long.examples.size() == 3);
  CHECK(std::ranges::any_of(over_long.examples,
                            [](const Loss& l) { return l.where.ends_with("/a:4"); }));
  CHECK(d.windows.points().size() == 1);
  CHECK(d.packs_without_labels == 1);  // one token alone: nothing comes before it
  CHECK(!d.default_look_ahead.has_value() == !with_default_look_ahead(job.pack).has_value());
}

TEST_CASE("EpochCounter: details and sums agree, for jobs of every kind") {
  for (std::uint64_t seed = 500; seed < 540; ++seed) {
    CAPTURE(seed);
    const TempFolder folder;
    const Job job = random_job(folder, seed);
    const EpochCount count = counted(job, 1);
    const EpochDetails& d = count.details;
    std::uint64_t samples = 0, tokens = 0;
    for (const SourceCount& s : d.sources) {
      samples += s.samples;
      tokens += s.tokens;
      CHECK(std::accumulate(s.lengths.begin(), s.lengths.end(), std::uint64_t{0}) == s.samples);
    }
    CHECK(samples == count.samples);
    CHECK(tokens == count.tokens);
    const auto over_long = static_cast<std::size_t>(SampleLoss::kOverLong);
    CHECK(d.lengths.samples() == samples + count.ledger.samples_lost[over_long]);
    CHECK(d.lengths.tokens() == tokens + count.ledger.tokens_lost[over_long]);
    for (std::size_t i = 0; i < kSampleLosses; ++i) {
      const auto at = d.losses.find(std::string(name_of(static_cast<SampleLoss>(i))));
      CHECK((at == d.losses.end() ? 0 : at->second.count) == count.ledger.samples_lost[i]);
      CHECK((at == d.losses.end() ? 0 : at->second.tokens) == count.ledger.tokens_lost[i]);
    }
    CHECK(d.balance.steps() == count.packs / job.deliver.dp_size);
    std::uint64_t packs = 0;
    for (const auto& p : d.windows.points()) packs += p.packs;
    CHECK(packs == count.packs);
  }
}

// What balance: attention would give is what it gives, where its groups are the steps.
TEST_CASE("EpochCounter: the balance that is promised is the one that is had") {
  for (std::uint64_t seed = 600; seed < 620; ++seed) {
    CAPTURE(seed);
    const TempFolder folder;
    Job job = random_job(folder, seed);
    if (keeps_order(job.pack.strategy)) continue;
    job.deliver.dp_size = job.pack.dp_size_multiple = 2;
    job.pack.packs_per_window = 6;
    job.pack.balance = Balance::kNone;
    const EpochCount plain = counted(job);
    job.pack.balance = Balance::kAttention;
    const EpochCount balanced = counted(job);
    CHECK(plain.details.balanced.mean() == doctest::Approx(balanced.details.balance.mean()));
    CHECK(plain.details.balanced.worst() == doctest::Approx(balanced.details.balance.worst()));
    CHECK(plain.details.balanced.waiting() == doctest::Approx(balanced.details.balance.waiting()));
  }
}

TEST_CASE("EpochCounter: rows in order are those of the records' order, not of the packs'") {
  const TempFolder folder;
  std::string text;
  std::uint64_t rows = 1, open = 0;
  Rng rng(8);
  for (int i = 0; i < 500; ++i) {
    const std::uint64_t length = 1 + rng.below(16);
    text += fmt::format("[{}]\n", length);
    if (open + length > 16) {
      ++rows;
      open = 0;
    }
    open += length;
  }
  Job job = job_over(folder, {folder.write("a", text)});
  job.lanes = 1;
  job.pack.packs_per_window = 1024;
  job.shuffle.kind = ShuffleKind::kNone;
  const EpochCount plain = counted(job);
  CHECK(plain.next_fit_packs == rows);
  job.shuffle.kind = ShuffleKind::kFull;
  const EpochCount shuffled = counted(job);
  CHECK(shuffled.next_fit_packs > shuffled.packs * 11 / 10);
}

TEST_CASE("EpochCounter: the fill that more look-ahead promises is about the one that is had") {
  const TempFolder folder;
  std::string text;
  Rng rng(3);
  for (int i = 0; i < 20'000; ++i) text += fmt::format("[{}]\n", 1 + rng.below(100));
  Job job = job_over(folder, {folder.write("a", text)});
  job.pack.capacity = 128;
  job.pack.packs_per_window = 32;
  job.pack.lookahead_packs = 0;
  const EpochCount without = counted(job);
  REQUIRE(without.details.default_look_ahead);
  job.pack = *with_default_look_ahead(job.pack);
  const EpochCount with = counted(job);
  CHECK(!with.details.default_look_ahead);
  CHECK(without.details.default_look_ahead->tokens() == with.tokens);
  CHECK(without.details.default_look_ahead->fill() == doctest::Approx(with.fill()).epsilon(0.002));
  CHECK(with.fill() > without.fill() + 0.002);
}

}  // namespace
}  // namespace packline

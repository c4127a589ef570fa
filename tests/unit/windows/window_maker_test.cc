#include "lib/windows/window_maker.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <thread>

#include "lib/corpus/position.h"
#include "lib/delivery/ledger_check.h"
#include "tests/unit/windows/support.h"

namespace packline {
namespace {

using test::bytes_of;
using test::job_over;
using test::maker_of;
using test::random_job;
using test::Step;
using test::sum;
using test::TempFolder;
using test::walk;

constexpr std::uint64_t kJobs = 90;

// L1: "The packs of a window are a pure function of the job": not of threads, nor of what was made
// before.
TEST_CASE("WindowMaker: a window is the same with any number of threads") {
  for (std::uint64_t seed = 0; seed < kJobs; ++seed) {
    CAPTURE(seed);
    const TempFolder folder;
    Job job = random_job(folder, seed);
    const auto one = maker_of(job);
    job.encode.threads = 3;
    const auto three = maker_of(job);
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      const std::vector<Step> a = walk(*one.maker, job, epoch);
      const std::vector<Step> b = walk(*three.maker, job, epoch);
      REQUIRE(a.size() == b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        REQUIRE(bytes_of(a[i].window, a[i].losses) == bytes_of(b[i].window, b[i].losses));
      }
    }
  }
}

// L1, and L9: "A cursor holds positions": any place can be made at once.
TEST_CASE("WindowMaker: a window made afresh from its place is the one made in order") {
  std::size_t carried = 0;
  std::size_t within_a_record = 0;
  std::size_t within_a_sample = 0;
  for (std::uint64_t seed = 0; seed < kJobs; ++seed) {
    CAPTURE(seed);
    const TempFolder folder;
    const Job job = random_job(folder, seed);
    std::vector<Step> steps = walk(*maker_of(job).maker, job, 0);
    for (Step& step : walk(*maker_of(job).maker, job, 1)) steps.push_back(std::move(step));
    Rng rng(seed);
    shuffle(steps, rng);
    const auto seeker = maker_of(job);
    for (const Step& step : steps) {
      CAPTURE(step.place.position);
      std::vector<Loss> losses;
      const auto again = seeker.maker->make(step.lane, step.place, losses);
      REQUIRE(again.has_value());
      REQUIRE(bytes_of(*again, losses) == bytes_of(step.window, step.losses));
      if (step.place.position.find(',') != std::string::npos) ++carried;
      if (step.place.position.find(".0.0") == std::string::npos && !step.place.position.empty()) {
        ++within_a_record;
      }
      if (Position::parse(step.place.position)->token > 0) ++within_a_sample;
    }
  }
  CHECK(carried > 100);  // the jobs do try it
  CHECK(within_a_record > 10);
  CHECK(within_a_sample > 100);
}

TEST_CASE("WindowMaker: in order nothing is encoded twice, whatever the lanes' turns") {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += fmt::format("[{}]\n", 1 + i * 7 % 16);
  Job job = job_over(folder, {folder.write("a", text)});
  job.lanes = 3;
  job.epochs = 2;
  const auto made = maker_of(job);
  walk(*made.maker, job, 0);
  walk(*made.maker, job, 1);
  CHECK(made.encoder->calls() == 6000);
}

// L4: "Three ledgers are exact in every epoch." "Each loss is written with source, position and
// cause."
TEST_CASE("WindowMaker: over an epoch the ledgers balance and each sample is there once") {
  std::map<std::string, std::uint64_t> reasons;
  std::uint64_t repeated = 0, truncated = 0;
  for (std::uint64_t seed = 100; seed < 100 + kJobs; ++seed) {
    CAPTURE(seed);
    const TempFolder folder;
    const Job job = random_job(folder, seed);
    const auto made = maker_of(job);
    Ledger ledger;
    std::uint64_t samples = 0, tokens = 0, lost_records = 0, lost_samples = 0, lost_tokens = 0;
    std::set<std::string> ids;
    for (const Step& step : walk(*made.maker, job, 0)) {
      REQUIRE(check_samples(step.window.samples).has_value());
      ledger += step.window.ledger;
      samples += step.window.samples.size();
      tokens += step.window.samples.tokens();
      for (const std::string& id : step.window.samples.ids) REQUIRE(ids.insert(id).second);
      for (const Loss& loss : step.losses) {
        CHECK(loss.window == step.window.key);
        CHECK(loss.where.find(":") != std::string::npos);
        CHECK(!loss.cause.empty());
        REQUIRE(ids.insert(loss.id).second);
        ++(loss.reason == "parse" || loss.reason == "encode" ? lost_records : lost_samples);
        lost_tokens += loss.tokens;
        ++reasons[loss.reason];
      }
    }
    const Status balanced = check_ledger(ledger, samples, tokens);
    if (!balanced) FAIL(balanced.error().text);
    CHECK(ledger.records_read == made.maker->records_in(0));
    CHECK(ledger.records_lost[0] + ledger.records_lost[1] == lost_records);
    CHECK(sum(ledger.samples_lost) == lost_samples);
    CHECK(sum(ledger.tokens_lost) == lost_tokens);
    CHECK(ids.size() == ledger.samples_made + ledger.samples_repeated + lost_records);
    repeated += ledger.samples_repeated;
    truncated += ledger.tokens_truncated;
  }
  for (const char* reason : {"parse", "encode", "empty", "over_long", "unsupervised"}) {
    CAPTURE(reason);
    CHECK(reasons[reason] > 100);  // the jobs do try it
  }
  CHECK(reasons["remainder"] > 20);
  CHECK(repeated > 20);
  CHECK(truncated > 1000);
}

// L2: "Every window has exactly packs_per_window packs (each lane's last window of an epoch aside:
// 0 to packs_per_window), always a multiple of pack.dp_size_multiple."
TEST_CASE("WindowMaker: windows have the packs that law L2 promises") {
  for (std::uint64_t seed = 200; seed < 200 + kJobs; ++seed) {
    CAPTURE(seed);
    const TempFolder folder;
    const Job job = random_job(folder, seed);
    std::map<std::uint32_t, int> lasts;
    for (const Step& step : walk(*maker_of(job).maker, job, 0)) {
      CHECK(step.window.before == step.place.position);
      const auto& packs = step.window.packs;
      CHECK(packs.size() % job.pack.dp_size_multiple == 0);
      CHECK(packs.size() <= job.pack.packs_per_window);
      if (!step.window.last) CHECK(packs.size() == job.pack.packs_per_window);
      CHECK(sum(packs) == step.window.samples.size());
      if (step.window.last) ++lasts[step.lane];
    }
    CHECK(lasts.size() == job.lanes);
    CHECK(std::all_of(lasts.begin(), lasts.end(), [](const auto& l) { return l.second == 1; }));
  }
}

TEST_CASE("WindowMaker: a lane without records closes one window of no packs") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", "[3]\n")});
  job.lanes = 3;
  const auto steps = walk(*maker_of(job).maker, job, 0);
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].window.packs.size() == 1);
  for (std::size_t lane = 1; lane < 3; ++lane) {
    CHECK(steps[lane].window.packs.size() == 0);
    CHECK(steps[lane].window.last);
    CHECK(steps[lane].window.after == "");
    CHECK(steps[lane].window.samples.size() == 0);
    CHECK(steps[lane].window.ledger == Ledger{});
  }
}

TEST_CASE("WindowMaker: a job of no records has one empty window a lane") {
  const TempFolder folder;
  const Job job = job_over(folder, {folder.write("a", "")});
  const auto made = maker_of(job);
  CHECK(made.maker->records() == 0);
  CHECK(made.maker->records_in(0) == 0);
  const auto steps = walk(*made.maker, job, 0);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].window.packs.size() == 0);
  CHECK(steps[0].window.last);
}

// docs/stream.md section 6: "records without samples between that one and the next belong to the
// next window, except in a last window, which takes them all."
TEST_CASE("WindowMaker: a last window takes the bad records behind its last sample") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", "[16]\nbad1\n[16]\nbad2\n[0]\nbad3\n")});
  job.lanes = 1;
  job.shuffle.kind = ShuffleKind::kNone;
  job.pack.packs_per_window = 1;
  job.pack.lookahead_packs = 0;
  const auto steps = walk(*maker_of(job).maker, job, 0);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].window.after == "1.0.0");
  CHECK(steps[0].losses.empty());
  CHECK(steps[1].window.last);
  CHECK(steps[1].window.after == "6.0.0");
  REQUIRE(steps[1].losses.size() == 4);
  CHECK(steps[1].losses[0].where == job.sources[0].files[0] + ":2");
  CHECK(steps[1].losses[2].reason == "empty");
  CHECK(steps[1].losses[3].lane_record == 5);
  CHECK(steps[1].window.ledger.records_read == 5);
}

TEST_CASE("WindowMaker: a lane whose records all are bad loses them in one window") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", "bad1\nmad2\n[]\n[0]\n")});
  job.lanes = 1;
  const auto steps = walk(*maker_of(job).maker, job, 0);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].window.packs.size() == 0);
  CHECK(steps[0].losses.size() == 3);
  CHECK(steps[0].window.ledger.records_encoded == 2);
}

TEST_CASE("WindowMaker: on_bad_record: stop names the record and the cause") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", "[3]\n[4]\nbad7\n[5]\n")});
  job.lanes = 1;
  job.on_bad_record = BadRecord::kStop;
  const auto made = maker_of(job);
  std::vector<Loss> losses;
  for (int tries = 0; tries < 2; ++tries) {  // it does not go on behind the record either
    const auto window = made.maker->make(0, Place{}, losses);
    REQUIRE(!window);
    CHECK(window.error().code == ExitCode::kDataRefused);
    CHECK(window.error().text.find(job.sources[0].files[0] + ":3") != std::string::npos);
    CHECK(window.error().text.find("\"bad7\" is not a list of lengths") != std::string::npos);
  }
  CHECK(losses.empty());
}

TEST_CASE("WindowMaker: over_long: error names the record, its length and the capacity") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", "[3]\n[4,9000]\n")});
  job.lanes = 1;
  job.pack.over_long = OverLong::kError;
  std::vector<Loss> losses;
  const auto window = maker_of(job).maker->make(0, Place{}, losses);
  REQUIRE(!window);
  CHECK(window.error().code == ExitCode::kDataRefused);
  for (const char* part : {":2", "9000", "16"}) {
    CHECK(window.error().text.find(part) != std::string::npos);
  }
}

TEST_CASE("WindowMaker: a window before the refused record is not refused") {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 20; ++i) text += "[16]\n";
  Job job = job_over(folder, {folder.write("a", text + "bad\n")});
  job.lanes = 1;
  job.shuffle.kind = ShuffleKind::kNone;
  job.on_bad_record = BadRecord::kStop;
  const auto made = maker_of(job);
  std::vector<Loss> losses;
  CHECK(made.maker->make(0, Place{}, losses).has_value());
}

TEST_CASE("WindowMaker: samples whose columns do not go together are refused by name") {
  const TempFolder folder;
  class Odd : public test::LengthsEncoder {
    Encoded encode(const EncodeRequest& request) const override {
      Encoded out = LengthsEncoder::encode(request);
      if (out.samples.lengths[0] == 4) {
        out.samples.columns.push_back({"weights",
                                       DType::kF32,
                                       ColumnKind::kPerToken,
                                       {},
                                       Buffer::of(std::vector<float>(4)),
                                       {}});
      }
      return out;
    }
  };
  Job job = job_over(folder, {folder.write("a", "[3]\n[4]\n")});
  job.lanes = 1;
  auto sources = test::open_sources(job);
  REQUIRE(sources.has_value());
  const auto maker = WindowMaker::over(job, std::move(*sources), std::make_unique<Odd>());
  std::vector<Loss> losses;
  const auto window = maker->make(0, Place{}, losses);
  REQUIRE(!window);
  CHECK(window.error().code == ExitCode::kDataRefused);
  CHECK(window.error().text.find("weights") != std::string::npos);
}

TEST_CASE("WindowMaker: a place that is not one of this job is refused in a sentence") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", "[3,4]\n[4]\nbad\n[0,5]\n[6]\n")});
  job.lanes = 1;
  job.shuffle.kind = ShuffleKind::kNone;
  const auto made = maker_of(job);
  const char* positions[] = {
      "6.0.0",  // behind the end
      "5.1.0",  // a sample behind the end
      "18446744073709551615.0.0",
      "0.2.0",              // the record has two samples
      "2.1.0",              // the record is bad
      "1.0.7",              // within a sample
      "2.0.0,0.0.1",        // carries what was not read
      "2.0.0,2.2.1",        // carries a sample that the record does not have
      "3.0.0,1.0.1",        // carries a sample of a bad record
      "4.0.0,1.0.1",        // carries a lost sample
      "2.0.0,1.0.1,2.0.1",  // out of order
      "2.0.0,1.0.1,1.0.1",  // twice
      "2.0.0,1.0.0",        // of age 0
      "2.0.0,7.0.1",        // before the lane
      "nonsense",
      "1",
      "1.0",
      "1.0.0,",
      "-1.0.0",
      "1.0.0,x.0.1",
  };
  std::vector<Loss> losses;
  for (const char* position : positions) {
    CAPTURE(position);
    const auto window = made.maker->make(0, Place{0, 3, position}, losses);
    REQUIRE(!window);
    CHECK(window.error().code == ExitCode::kWrongJob);
    CHECK(window.error().text.find("lane 0, epoch 0, window 3") != std::string::npos);
    CHECK(window.error().text.find(position) != std::string::npos);
  }
  CHECK(!made.maker->make(1, Place{}, losses));
  CHECK(!made.maker->make(0, Place{1, 0, ""}, losses));
  CHECK(losses.empty());
  CHECK(made.maker->make(0, Place{0, 0, "0.1.0,0.0.1"}, losses).has_value());
  CHECK(made.maker->make(0, Place{}, losses).has_value());  // and the maker is none the worse
}

TEST_CASE("WindowMaker: a window from within a record does not count that record again") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", "[16,0,16,16]\n[16]\n")});
  job.lanes = 1;
  job.shuffle.kind = ShuffleKind::kNone;
  job.pack.packs_per_window = 1;
  job.pack.lookahead_packs = 0;
  const auto steps = walk(*maker_of(job).maker, job, 0);
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].window.after == "0.1.0");
  CHECK(steps[0].window.ledger.samples_made == 4);
  CHECK(steps[0].losses.size() == 1);
  CHECK(steps[1].window.after == "0.3.0");
  CHECK(steps[1].window.ledger == Ledger{});
  CHECK(steps[1].losses.empty());
  CHECK(steps[2].window.after == "1.0.0");
  CHECK(steps[3].window.ledger.records_read == 1);
}

TEST_CASE("WindowMaker: cancel() ends a make() that runs, and those that follow") {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "[1]\n";
  Job job = job_over(folder, {folder.write("a", text)});
  job.lanes = 1;
  job.pack.packs_per_window = 10000;  // all records, in hundreds of groups
  std::promise<void> running, cancelled;
  const std::shared_future<void> go_on = cancelled.get_future().share();
  std::atomic<bool> first = true;
  const auto made = maker_of(job, [&] {
    if (first.exchange(false)) running.set_value();
    go_on.wait();
  });
  std::vector<Loss> losses;
  auto result = std::async(std::launch::async, [&] {
    const auto window = made.maker->make(0, Place{}, losses);
    return window ? ExitCode::kDone : window.error().code;
  });
  running.get_future().wait();
  made.maker->cancel();
  cancelled.set_value();
  CHECK(result.get() == ExitCode::kTerminated);
  CHECK(made.encoder->calls() < 20000);
  CHECK(made.maker->make(0, Place{}, losses).error().code == ExitCode::kTerminated);
}

TEST_CASE("WindowMaker: counts the records of its split, no further than it is asked to") {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 300; ++i) text += "[1]\n";
  Job job = job_over(folder, {folder.write("a", text), folder.write("b", "[1]\n")});
  const auto counted = [&](std::uint64_t limit) {
    return maker_of(job).maker->records_taken(limit);
  };
  CHECK(counted(1000) == 301);
  CHECK(counted(7) == 7);
  job.eval = {0.3, 5};
  const std::uint64_t trained = counted(1000);
  job.split = Split::kEval;
  CHECK(counted(1000) + trained == 301);
  CHECK(counted(1000) > 50);
  CHECK(counted(2) == 2);
  job.eval.fraction = 0;
  CHECK(counted(1000) == 0);
}

}  // namespace
}  // namespace packline

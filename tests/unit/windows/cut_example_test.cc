#include "lib/windows/cut_example.h"

#include <doctest/doctest.h>

#include "lib/windows/epoch_advice.h"
#include "tests/unit/windows/support.h"

namespace packline {
namespace {

using test::job_over;
using test::TempFolder;

std::string record_of(std::size_t bytes) {
  return "{\"text\": \"" + std::string(bytes, 'x') + "\"}\n";
}

Job job_of_bytes(const TempFolder& folder, const std::string& text) {
  Job job = job_over(folder, {folder.write("a.jsonl", text)});
  job.encode.add_eos = false;
  job.pack.over_long = OverLong::kTruncateRight;
  job.lanes = 1;
  return job;
}

TEST_CASE("find_cut: of samples as long as the capacity, the one that was longer") {
  const TempFolder folder;
  const Job job = job_of_bytes(folder, record_of(16) + record_of(3) + record_of(25));
  const auto found = find_cut(job, {"s0:0", "name@s0:2"});
  REQUIRE(found);
  CHECK(found->where.ends_with("a.jsonl:3"));
  CHECK(found->id == "name@s0:2");
  CHECK(found->tokens == 25);
  CHECK(!find_cut(job, {"s0:0", "s0:1", "s0:99", "s7:0", "nonsense"}));
  CHECK(!find_cut(job, {}));
}

TEST_CASE("Advice: tokens that are cut off are warned of, with a sample that was cut") {
  const TempFolder folder;
  Job job = job_of_bytes(folder, record_of(16) + record_of(3) + record_of(25) + record_of(16));
  const auto maker = open_job(job);
  REQUIRE(maker.has_value());
  const auto count = EpochCounter(job, **maker).count(0);
  REQUIRE(count.has_value());
  const Advice advice = advice_on(job, *count);
  const auto warnings = warnings_on(job, *count, advice);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].kind == "truncated");
  CHECK(warnings[0].text.find("a.jsonl:3: the sample has 25 tokens") != std::string::npos);
}

}  // namespace
}  // namespace packline

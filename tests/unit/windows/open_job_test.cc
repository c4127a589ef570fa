#include <doctest/doctest.h>

#include <algorithm>

#include "lib/windows/window_maker.h"
#include "tests/unit/windows/support.h"

namespace packline {
namespace {

using test::job_over;
using test::Step;
using test::TempFolder;
using test::walk;

TEST_CASE("open_job: opens real sources and encoder and fills in the fingerprint") {
  const TempFolder folder;
  const std::string file = folder.write("a.jsonl", "{\"text\": \"one\"}\n{\"text\": \"three\"}\n");
  Job job = job_over(folder, {file});
  job.encode.kind = EncodeKind::kBytes;
  job.pack.capacity = 64;
  auto maker = open_job(job);
  REQUIRE(maker.has_value());
  CHECK(job.fingerprint != 0);
  CHECK((*maker)->records() == 2);
  Job same = job;
  same.fingerprint = 0;
  REQUIRE(identify_job(same).has_value());
  CHECK(same.fingerprint == job.fingerprint);

  std::vector<std::string> ids;
  for (const Step& step : walk(**maker, job, 0)) {
    for (const auto& id : step.window.samples.ids) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  CHECK(ids == std::vector<std::string>{"s0:0", "s0:1"});

  folder.write("a.jsonl", "{\"text\": \"two\"}\n{\"text\": \"three\"}\n");
  REQUIRE(identify_job(same).has_value());
  CHECK(same.fingerprint != job.fingerprint);
}

TEST_CASE("WindowMaker: open() returns the first error of sources and encoder") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.path() + "/missing"});
  const auto maker = WindowMaker::open(job);
  REQUIRE(!maker);
  CHECK(maker.error().text.find("missing") != std::string::npos);
}

}  // namespace
}  // namespace packline

#include "lib/windows/epoch_advice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/unit/windows/support.h"

namespace packline {
namespace {

using test::job_over;
using test::maker_of;
using test::TempFolder;

struct Advised {
  EpochCount count;
  Advice advice;
  std::vector<std::string> sentences;
  std::vector<EpochWarning> warnings;
};

Advised advised(const Job& job) {
  const auto made = maker_of(job);
  Result<EpochCount> count = EpochCounter(job, *made.maker).count(0);
  REQUIRE(count.has_value());
  Advised a{std::move(*count), {}, {}, {}};
  a.advice = advice_on(job, a.count);
  a.sentences = advice_sentences(job, a.count, a.advice);
  a.warnings = warnings_on(job, a.count, a.advice);
  return a;
}

std::string lines_of(const std::string& line, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += line + "\n";
  return text;
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("Advice: a capacity that no two samples share is said to be the cause") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", lines_of("[10]", 64))});
  const Advised a = advised(job);
  REQUIRE(!a.sentences.empty());
  CHECK(a.sentences[0] ==
        "fill 62.5 %, the best possible for these lengths at 16; 10 would give 100.0 %");
  REQUIRE(a.advice.better);
  CHECK(a.advice.capacities[*a.advice.better].capacity == 10);
  CHECK(a.warnings.empty());
}

TEST_CASE("Advice: a smaller capacity that loses samples is no advice") {
  const TempFolder folder;
  std::string text = lines_of("[8]", 60) + lines_of("[9]", 40);
  Job job = job_over(folder, {folder.write("a", text)});
  const Advised a = advised(job);  // at 8 the fill is whole, without the nines
  CHECK(a.advice.capacities[0].capacity == 8);
  CHECK(a.advice.capacities[0].fill() == 1);
  CHECK(a.advice.capacities[0].tokens_gone == 360);
  if (a.advice.better) CHECK(a.advice.capacities[*a.advice.better].tokens_gone == 0);
}

TEST_CASE("Advice: fewer packs than a step takes is the first warning") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", lines_of("[16]", 8) + "bad\n")});
  job.lanes = 1;
  job.deliver.dp_size = job.pack.dp_size_multiple = 2;
  job.deliver.packs_per_optimizer_step = 8;
  Advised a = advised(job);
  REQUIRE(a.warnings.size() == 2);
  CHECK(a.warnings[0].kind == "too_few_packs");
  CHECK(holds(a.warnings[0].text, "8 packs are fewer than an optimizer step takes, 16"));
  CHECK(a.warnings[1].kind == "parse");
  job.deliver.packs_per_optimizer_step = 4;
  CHECK(advised(job).warnings.size() == 1);
}

TEST_CASE("Advice: an epoch without a pack warns and gives no other advice") {
  const TempFolder folder;
  const Advised a = advised(job_over(folder, {folder.write("a", "")}));
  CHECK(a.sentences.empty());
  REQUIRE(a.warnings.size() == 1);
  CHECK(holds(a.warnings[0].text, "not one pack"));
}

TEST_CASE("Advice: packs that train nothing are counted") {
  const TempFolder folder;
  const Advised a = advised(job_over(folder, {folder.write("a", lines_of("[16]", 7) + "[1]\n")}));
  REQUIRE(a.warnings.size() == 1);
  CHECK(a.warnings[0].kind == "packs_without_labels");
  CHECK(holds(a.warnings[0].text, "1 of 8 packs"));
}

TEST_CASE("Advice: what is lost is warned of from 1 % on, with the first example's place") {
  const TempFolder folder;
  std::string text = lines_of("[8]", 297) + "[17]\n";
  Advised a = advised(job_over(folder, {folder.write("a", text)}));
  CHECK(a.warnings.empty());
  a = advised(job_over(folder, {folder.write("b", text + "[30]\n[31]\n[200]\n")}));
  REQUIRE(a.warnings.size() == 1);
  CHECK(a.warnings[0].kind == "over_long");
  CHECK(holds(a.warnings[0].text, "raise pack.capacity 16"));
  CHECK(holds(a.warnings[0].text, "/b:"));
  CHECK(holds(a.warnings[0].text, "more than the capacity of 16"));
}

TEST_CASE("Advice: less look-ahead than the default is compared with it, else with all at once") {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 400; ++i) text += fmt::format("[{}]\n", 1 + i * 7 % 13);
  Job job = job_over(folder, {folder.write("a", text)});
  job.pack.lookahead_packs = 0;
  Advised a = advised(job);
  REQUIRE(a.advice.default_look_ahead);
  CHECK(holds(a.sentences[1], "pack.lookahead_packs 4"));
  job.pack.lookahead_packs = job.pack.packs_per_window;
  a = advised(job);
  CHECK(!a.advice.default_look_ahead);
  CHECK(holds(a.sentences[1], "with the whole epoch planned at once"));
}

TEST_CASE("Advice: balance is spoken of where ranks could wait for one another") {
  const TempFolder folder;
  Job job = job_over(folder, {folder.write("a", lines_of("[16]", 40) + lines_of("[4]", 160))});
  job.pack.packs_per_window = 16;
  CHECK(advised(job).sentences.size() == 2);
  job.deliver.dp_size = job.pack.dp_size_multiple = 4;
  const Advised a = advised(job);
  REQUIRE(a.sentences.size() == 3);
  CHECK(holds(a.sentences[2], "with pack.balance: attention"));
  REQUIRE(a.advice.balanced);
  CHECK(a.advice.balanced->waiting() < a.advice.balance.waiting());
  job.pack.balance = Balance::kAttention;
  CHECK(!advised(job).advice.balanced);
}

TEST_CASE("grouped: thousands are set apart") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(12288) == "12,288");
  CHECK(grouped(1234567) == "1,234,567");
}

}  // namespace
}  // namespace packline

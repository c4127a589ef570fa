#include "launcher/live_progress.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace packline {
namespace {

Job small() {
  Job job;
  job.epochs = 2;
  job.lanes = 4;
  job.pack.capacity = 100;
  job.deliver.dp_size = 2;
  job.deliver.window_credit = 2;
  return job;
}

RoleDocument role(const std::string& name, StatusDocument::Numbers holds,
                  StatusDocument::Numbers counters) {
  RoleDocument d;
  d.name = name;
  d.document.role = name.substr(0, name.rfind('-'));
  d.document.holds = std::move(holds);
  d.document.counters = std::move(counters);
  return d;
}

TEST_CASE("Live progress: the roles' documents are summed up") {
  const LineSample s = sample_of(
      small(),
      {role("producer-0", {{"windows", 3}, {"records_an_epoch", 50}}, {{"windows_closed", 9}}),
       role("producer-1", {{"windows", 1}, {"records_an_epoch", 50}}, {{"windows_closed", 2}}),
       role("packer-0", {}, {}),
       role("sink-0", {{"slices", 5}, {"room", 0}},
            {{"packs_taken", 7},
             {"tokens_taken", 70},
             {"records_passed", 20},
             {"losses_passed", 1}}),
       role("sink-1", {{"slices", 4}, {"room", 2}}, {{"packs_taken", 6}, {"records_passed", 30}})},
      2.5);
  CHECK(s.windows_closed == 11);
  CHECK(s.windows_held == 4);
  CHECK(s.windows_room == 8);
  CHECK(s.slices_held == 9);
  CHECK(s.slices_room == 16);
  CHECK(s.packs == 13);
  CHECK(s.tokens == 70);
  CHECK(s.records == 30);  // each rank passes every record
  CHECK(s.records_in_all == 100);
  CHECK(s.losses == 1);
  CHECK_FALSE(s.trainers_full);
  CHECK_FALSE(s.trainers_absent);
  CHECK(sample_of(small(), {role("sink-0", {{"slices", 0}}, {})}, 1).trainers_absent);
}

TEST_CASE("Live progress: what evaluates beside the training is not counted") {
  const std::vector<RoleDocument> alone = {
      role("producer-0", {{"windows", 3}, {"records_an_epoch", 50}}, {{"windows_closed", 9}}),
      role("sink-0", {{"slices", 5}, {"room", 0}}, {{"packs_taken", 7}})};
  std::vector<RoleDocument> beside = alone;
  for (const RoleDocument& d : alone) {
    beside.push_back(d);
    beside.back().name = "eval-" + d.name;
  }
  CHECK(progress_line(small(), {}, sample_of(small(), beside, 2)) ==
        progress_line(small(), {}, sample_of(small(), alone, 2)));
}

TEST_CASE("Live progress: the first stage whose output is empty while its input is full limits") {
  LineSample s;
  s.windows_room = 8;
  s.slices_room = 16;
  s.trainers_absent = true;
  CHECK(limiting_stage(s) == "the trainer, no rank of which has subscribed yet");
  s.trainers_absent = false;
  CHECK(limiting_stage(s) == "reading and encoding");
  s.windows_held = 4;
  CHECK(limiting_stage(s) == "packing");
  s.slices_held = 8;
  CHECK(limiting_stage(s) == "the trainer");
  s.windows_held = 0;
  CHECK(limiting_stage(s) == "reading and encoding");
  s.trainers_full = true;  // what lies ready is not taken: reading is not what holds it up
  CHECK(limiting_stage(s) == "the trainer");
}

TEST_CASE("Live progress: the line has rates since the line before, and the time left") {
  LineSample before, now;
  before.at_s = 10;
  before.packs = 100;
  before.tokens = 5000;
  now = before;
  now.at_s = 12;
  now.packs = 120;
  now.tokens = 105000;
  now.windows_closed = 31;
  now.windows_room = 8;
  now.slices_room = 16;
  now.records = 25;
  now.records_in_all = 100;
  now.losses = 3;
  CHECK(progress_line(small(), before, now) ==
        "windows 31  packs 120  10/s  tokens 50.0 k/s  fill 875.0 %  queue: producers 0/8, sinks "
        "0/16  limits: reading and encoding  lost 3  25 %  left 0:36");
  now.packs = 90;  // a sink that was started again tells less until its trainer speaks to it
  CHECK(progress_line(small(), before, now).find("packs 90  0/s") != std::string::npos);
}

TEST_CASE("Live progress: roles stand in the order of the life of a sample, numbers as numbers") {
  std::vector<std::string> names = {"sink-10", "packer-0", "sink-9", "producer-1", "producer-0"};
  std::ranges::sort(names, in_order);
  CHECK(names ==
        std::vector<std::string>{"producer-0", "producer-1", "packer-0", "sink-9", "sink-10"});
}

}  // namespace
}  // namespace packline

// Rule S7: one test an arrow.

#include "tests/unit/sink/sink_fixture.h"

namespace packline {
namespace {

Subscribe done(Line& l) {
  Subscribe s = l.subscribe(Line::start());
  s.done = true;
  return s;
}

TEST_CASE(
    "Sink: SERVING becomes RELEASED when all producers have finished; done is answered then, not "
    "before") {
  Line l;
  l.sink.on_subscribe("a", done(l), at_ms(0));
  l.sink.on_notice(l.notice(0, true), at_ms(1));
  CHECK(l.sink.state() == SinkState::kServing);
  CHECK(l.told<End>().empty());
  l.sink.on_notice(l.notice(1, true), at_ms(2));
  CHECK(l.sink.state() == SinkState::kReleased);
  REQUIRE(l.told<End>().size() == 1);
  CHECK(l.told<End>()[0].released);
  l.sink.on_subscribe("a", done(l), at_ms(3));  // it did not hear it
  CHECK(l.told<End>().size() == 2);
}

TEST_CASE("Sink: RELEASED becomes DONE after a second, with a goodbye") {
  Line l;
  l.sink.on_subscribe("a", done(l), at_ms(0));
  l.sink.on_notice(l.notice(0, true), at_ms(0));
  l.sink.on_notice(l.notice(1, true), at_ms(0));
  l.sink.tick(at_ms(1000));
  CHECK_FALSE(l.sink.exit());
  l.forget();
  l.sink.tick(at_ms(1001));
  REQUIRE(l.sink.exit());
  CHECK(l.sink.exit()->code == ExitCode::kDone);
  CHECK(l.sink.state() == SinkState::kDone);
  REQUIRE(l.reports(0).size() == 1);
  CHECK(l.reports(0)[0].bye);
  CHECK(l.reports(0)[0].done);
}

TEST_CASE("Sink: SERVING becomes DONE when the trainer was done and has left for the drain time") {
  Line l;
  l.sink.on_subscribe("a", done(l), at_ms(0));
  l.sink.on_notice(l.notice(0), at_ms(20000));
  l.sink.tick(at_ms(20000));
  CHECK_FALSE(l.sink.exit());
  l.sink.tick(at_ms(20001));
  REQUIRE(l.sink.exit());
  CHECK(l.sink.exit()->code == ExitCode::kDone);
}

TEST_CASE("Sink: at the end without done it waits for the trainer while producers live") {
  Line l;
  const std::vector<Place> end(2, Place{3, 0, ""});
  l.sink.on_subscribe("a", l.subscribe({{3, 0, 0}, end}), at_ms(0));
  l.sink.on_notice(l.notice(0), at_ms(15000));
  l.sink.tick(at_ms(21000));
  CHECK_FALSE(l.sink.exit());  // the trainer may come back from its last checkpoint
  l.sink.tick(at_ms(35001));
  REQUIRE(l.sink.exit());
  CHECK(l.sink.exit()->code == ExitCode::kDone);
  CHECK(l.sink.exit()->text.find("20 s") != std::string::npos);
}

TEST_CASE("Sink: WAITING becomes DONE, by name, when no trainer subscribes for fail_after") {
  Line l;
  l.sink.on_notice(l.notice(0), at_ms(599000));
  l.sink.on_notice(l.notice(1), at_ms(599000));
  l.sink.tick(at_ms(600000));
  CHECK_FALSE(l.sink.exit());
  l.sink.tick(at_ms(600001));
  REQUIRE(l.sink.exit());
  CHECK(l.sink.exit()->code == ExitCode::kUnreachable);
  CHECK(l.sink.exit()->text.find("sink 1: no trainer rank has subscribed for 600 s") == 0);
}

TEST_CASE("Sink: where a trainer may rest between evaluations its absence ends nothing") {
  Line l;
  SinkSettings resting = Line::make(1, 2);
  resting.absent_trainer_fails = false;
  Sink sink(resting, at_ms(0));
  sink.on_notice(l.notice(0), at_ms(5000000));
  sink.on_notice(l.notice(1), at_ms(5000000));
  sink.tick(at_ms(5000001));
  CHECK_FALSE(sink.exit());
  CHECK(sink.waits(at_ms(5000001)) ==  // nor is it a sign of trouble
        std::vector<Wait>{{"the first Subscribe", "its trainer rank", 5000001, true}});
  sink.tick(at_ms(5700000));  // but that of the producers does
  REQUIRE(sink.exit());
  CHECK(sink.exit()->text.find("producer 0 has not been heard") != std::string::npos);
}

TEST_CASE("Sink: one of several ranks that never subscribes is named") {
  Line l(2);
  l.sink.on_notice(l.notice(0), at_ms(600000));
  l.sink.on_notice(l.notice(1), at_ms(600000));
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 1, 0), at_ms(600000));
  l.sink.tick(at_ms(600001));
  REQUIRE(l.sink.exit());
  CHECK(l.sink.exit()->text.find("trainer rank 1 of 2") != std::string::npos);
  const auto e = l.told<ErrorMessage>();  // who is there is told
  REQUIRE(e.size() == 1);
  CHECK(e[0].reason == ErrorReason::kLineFailed);
  CHECK(e[0].text == l.sink.exit()->text);
}

TEST_CASE("Sink: SERVING becomes DONE, by name, when a producer is not heard for fail_after") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start()), at_ms(600000));
  l.sink.on_notice(l.notice(0), at_ms(600000));
  l.sink.tick(at_ms(600001));
  REQUIRE(l.sink.exit());
  CHECK(l.sink.exit()->code == ExitCode::kUnreachable);
  CHECK(l.sink.exit()->text.find("producer 1 has not been heard for 600 s") != std::string::npos);
}

TEST_CASE("Sink: notices of another job or dp_size do not end it") {
  Line l;
  l.sink.on_subscribe("a", done(l), at_ms(0));
  for (const std::uint32_t i : {0u, 1u}) {
    Notice n = l.notice(i, true);
    n.envelope.dp_size = 4;
    l.sink.on_notice(n, at_ms(1));
    n = l.notice(i, true);
    n.envelope.job = 1;
    l.sink.on_notice(n, at_ms(1));
  }
  CHECK(l.sink.state() == SinkState::kServing);
  CHECK(l.sink.counters().refused_other_dp_size == 2);
}

// L7: "Any process that waits can say for what, for whom, and since when."
TEST_CASE("Sink: says whom it waits for") {
  Line l;
  l.sink.on_notice(l.notice(1), at_ms(4000));
  const auto waits = l.sink.waits(at_ms(5000));
  REQUIRE(waits.size() == 2);
  CHECK(waits[0] == Wait{"the first Subscribe", "its trainer rank", 5000});
  CHECK(waits[1] == Wait{"a notice", "producer 0", 5000});
}

// L4: "Nothing is lost silently", and no rank waits for ever for what will never come.
TEST_CASE(
    "Sink: an epoch without end that has no pack ends the line by what became of its records") {
  SinkSettings settings = Line::make(1, 2);
  settings.job.epochs = kContinuous;
  Line l;
  l.sink = Sink(settings, at_ms(0));
  l.sink.on_subscribe("a", l.subscribe(Line::start()), at_ms(1));
  Slice s = Line::slice(0, 0, 0, 0, true);
  s.ledger.records_lost[0] = 7;
  s.ledger.samples_lost[1] = 3;
  l.sink.on_slice(s, at_ms(2));
  CHECK_FALSE(l.sink.exit());
  l.sink.on_slice(Line::slice(1, 0, 0, 0, true), at_ms(3));
  REQUIRE(l.sink.exit());
  CHECK(l.sink.exit()->code == ExitCode::kDataRefused);
  CHECK(l.sink.exit()->text ==
        "sink 1: epoch 0 has no pack at all, and epochs is continuous: all of its 20 records were "
        "lost (parse 7, over_long 3); the quarantine file of each lane says where and why");
  const auto told = l.told<ErrorMessage>();
  REQUIRE(told.size() == 1);
  CHECK(told[0].reason == ErrorReason::kDataRefused);
  CHECK(told[0].text == l.sink.exit()->text);
}

TEST_CASE("Sink: an epoch without end that has one pack goes on, and so does one that ends") {
  SinkSettings settings = Line::make(1, 2);
  settings.job.epochs = kContinuous;
  Line l;
  l.sink = Sink(settings, at_ms(0));
  l.sink.on_subscribe("a", l.subscribe(Line::start()), at_ms(1));
  l.sink.on_slice(Line::slice(0, 0, 0, 2, true), at_ms(2));
  l.sink.on_slice(Line::slice(1, 0, 0, 0, true), at_ms(3));
  const auto packs = l.told<Pack>();
  REQUIRE(packs.size() == 1);
  l.sink.on_subscribe("a", l.subscribe({packs[0].after, packs[0].lanes.value()}), at_ms(4));
  CHECK_FALSE(l.sink.exit());
  CHECK(l.sink.mark() == StreamPoint{1, 0, 0});
  Line ends;
  ends.sink.on_subscribe("a", ends.subscribe(Line::start()), at_ms(1));
  ends.sink.on_slice(Line::slice(0, 0, 0, 0, true), at_ms(2));
  ends.sink.on_slice(Line::slice(1, 0, 0, 0, true), at_ms(3));
  CHECK_FALSE(ends.sink.exit());
}

}  // namespace
}  // namespace packline

#include "producer/producer.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lib/hash/xxh3.h"

namespace packline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Instant at_ms(int ms) { return Instant{milliseconds(ms)}; }

// One producer of one lane, two ranks, W = 2, unless said otherwise.
struct Line {
  explicit Line(std::uint32_t credit = 2, std::uint32_t dp_size = 2)
      : settings{0, 1, JobShape{77, 1, 2, dp_size}, credit, 5, {{"seed", "1"}}},
        producer(settings, at_ms(0)) {}

  Report report(std::uint32_t rank, Place place, std::vector<WindowKey> held = {}) {
    Report r;
    r.envelope = {77, settings.job.dp_size};
    r.dp_rank = rank;
    r.session = 100 + rank;
    r.seq = ++seq;
    r.endpoint = "ipc:///s" + std::to_string(rank);
    r.live = true;
    r.lanes = {{0, std::move(place)}};
    r.held = std::move(held);
    return r;
  }

  // Makes every window that is asked for.
  std::vector<Place> read(int ms) {
    std::vector<Place> places;
    for (bool more = true; more;) {
      const auto reads = producer.take_reads(at_ms(ms));
      more = !reads.empty();
      for (const ReadRequest& r : reads) {
        places.push_back(r.place);
        CHECK(producer.on_window(r.ticket, window(r), at_ms(ms)));
      }
    }
    return places;
  }

  static Window window(const ReadRequest& r, bool last = false) {
    Window w;
    w.key = {r.lane, r.place.epoch, r.place.index};
    w.before = r.place.position;
    w.after = "after" + std::to_string(r.place.index);
    w.last = last;
    w.packs.resize(4);
    return w;
  }

  // What goes out: "index:ranks".
  std::vector<std::string> sent(int ms, bool writable = true) {
    std::vector<std::string> out;
    producer.dispatch(at_ms(ms), [&](const Window& w) {
      if (!writable) return false;
      std::string s = std::to_string(w.key.index) + ":";
      for (const Destination& d : w.to) s += std::to_string(d.dp_rank);
      out.push_back(s);
      return true;
    });
    return out;
  }

  std::uint64_t seq = 0;
  ProducerSettings settings;
  Producer producer;
};

using Sent = std::vector<std::string>;

// L5: "A source that cannot seek, such as a pipe, reaches back as far as the credit": not less far
// because a rank was slow to subscribe.
TEST_CASE("Producer: of a source that is read once nothing is let go before every rank was heard") {
  Line l;
  l.settings.reads_once = true;
  l.producer = Producer(l.settings, at_ms(0));
  l.producer.on_report(l.report(0, {0, 0, ""}), at_ms(0));
  CHECK(l.read(0).size() == 2);
  l.producer.on_report(l.report(0, {0, 2, "after1"}), at_ms(1));
  CHECK(l.read(1).empty());
  CHECK(l.producer.held() == 2);
  CHECK(l.producer.notice(1, at_ms(500)).slowest_rank == 1);
  CHECK(l.producer.notice(1, at_ms(500)).slowest_silent_ms == 500);
  l.producer.on_report(l.report(1, {0, 0, ""}), at_ms(2));
  CHECK(l.read(2).empty());
  CHECK(l.sent(2) == Sent{"0:1", "1:1"});
  // A sink that was started again knows its trainer's want only once that has subscribed.
  Report empty = l.report(1, {0, 0, ""});
  empty.session = 999;
  empty.lanes.clear();
  l.producer.on_report(empty, at_ms(10'000));
  CHECK(l.read(10'000).empty());
  CHECK(l.producer.held() == 2);
  Report back = l.report(1, {0, 1, "after0"});
  back.session = 999;
  l.producer.on_report(back, at_ms(10'001));
  CHECK(l.read(10'001) == std::vector<Place>{{0, 2, "after1"}});
  CHECK(l.producer.counters().seeks == 0);
}

// L7: "Any process that waits can say for what, for whom, and since when".
TEST_CASE("Producer: what its source waits for is told with its lanes and among its waits") {
  Line l;
  l.producer.on_report(l.report(0, {0, 0, ""}), at_ms(0));
  l.producer.on_report(l.report(1, {0, 0, ""}), at_ms(0));
  CHECK(l.producer.take_reads(at_ms(0)).size() == 1);
  l.producer.on_source_wait("the pipe P, whose writer sends nothing", at_ms(100));
  l.producer.on_source_wait("the pipe P, whose writer sends nothing", at_ms(200));
  const LaneNotice lane = l.producer.notice(1, at_ms(400)).lanes[0];
  CHECK(lane.waits_for == "the pipe P, whose writer sends nothing");
  CHECK(lane.reading_ms == 300);
  const auto waits = l.producer.waits(at_ms(400), 1);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].whom == "the pipe P, whose writer sends nothing");
  CHECK(waits[0].since_ms == 300);
  l.producer.on_source_wait("", at_ms(500));
  CHECK(l.producer.notice(1, at_ms(600)).lanes[0].waits_for.empty());
  CHECK(l.producer.waits(at_ms(600), 1).empty());
}

TEST_CASE("Producer: a place that is gone is refused as such") {
  Line l;
  l.producer.on_report(l.report(0, {0, 3, "gone"}), at_ms(0));
  const auto reads = l.producer.take_reads(at_ms(0));
  REQUIRE(reads.size() == 1);
  CHECK(l.producer.on_refused(reads[0].ticket, "a pipe cannot go back", true));
  const Notice n = l.producer.notice(1, at_ms(1));
  REQUIRE(n.lanes[0].refused);
  CHECK(n.lanes[0].refused->gone);
  CHECK(n.lanes[0].refused->text == "a pipe cannot go back");
}

// P2: a place is its number and its position.
TEST_CASE("Producer: a place with another position than that of its own window is read anew") {
  Line l;
  l.producer.on_report(l.report(0, {0, 0, ""}), at_ms(0));
  CHECK(l.read(0).size() == 2);
  l.producer.on_report(l.report(0, {0, 1, "after0"}), at_ms(1));
  CHECK(l.read(1) == std::vector<Place>{{0, 2, "after1"}});
  l.producer.on_report(l.report(0, {0, 1, "elsewhere"}), at_ms(2));
  CHECK(l.read(2) == std::vector<Place>{{0, 1, "elsewhere"}, {0, 2, "after1"}});
  l.producer.on_report(l.report(0, {0, 3, "elsewhere"}), at_ms(3));
  CHECK(l.read(3).front() == Place{0, 3, "elsewhere"});
}

TEST_CASE("Producer: without a report it has nothing to read") {
  Line l;
  CHECK(l.read(0).empty());
  CHECK(l.sent(0).empty());
}

TEST_CASE("Producer: reads from the reported place on, as many windows as the credit") {
  Line l;
  l.producer.on_report(l.report(0, {0, 5, "p5"}), at_ms(0));
  CHECK(l.read(0) == std::vector<Place>{{0, 5, "p5"}, {0, 6, "after5"}});
  CHECK(l.producer.held() == 2);
}

TEST_CASE("Producer: one read a lane is under way at a time") {
  Line l;
  l.producer.on_report(l.report(0, {}), at_ms(0));
  CHECK(l.producer.take_reads(at_ms(0)).size() == 1);
  CHECK(l.producer.take_reads(at_ms(0)).empty());
}

TEST_CASE("Producer: a lane's last window is followed by the next epoch's first, then by nothing") {
  Line l(3);
  l.producer.on_report(l.report(0, {}), at_ms(0));
  auto reads = l.producer.take_reads(at_ms(0));
  l.producer.on_window(reads[0].ticket, Line::window(reads[0], true), at_ms(0));
  reads = l.producer.take_reads(at_ms(0));
  REQUIRE(reads.size() == 1);
  CHECK(reads[0].place == Place{1, 0, ""});
  l.producer.on_window(reads[0].ticket, Line::window(reads[0], true), at_ms(0));
  CHECK(l.producer.take_reads(at_ms(0)).empty());
  CHECK(l.producer.held() == 2);
}

TEST_CASE("Producer: the slowest rank holds the credit, the others' progress frees nothing") {
  Line l;
  l.producer.on_report(l.report(0, {}), at_ms(0));
  l.producer.on_report(l.report(1, {}), at_ms(0));
  l.read(0);
  l.producer.on_report(l.report(0, {0, 2, "after1"}), at_ms(1));
  CHECK(l.read(1).empty());
  l.producer.on_report(l.report(1, {0, 1, "after0"}), at_ms(2));
  CHECK(l.read(2) == std::vector<Place>{{0, 2, "after1"}});
}

// P2: "whatever was freed or dispatched before" [1, 2].
TEST_CASE("Producer: a rank that goes back is followed back, from its own position") {
  Line l;
  l.producer.on_report(l.report(0, {0, 10, "p10"}), at_ms(0));
  l.producer.on_report(l.report(1, {0, 10, "p10"}), at_ms(0));
  l.read(0);
  CHECK(l.sent(0) == Sent{"10:01", "11:01"});
  l.producer.on_report(l.report(0, {0, 4, "p4"}), at_ms(1));
  CHECK(l.producer.counters().seeks == 1);
  CHECK(l.read(1) == std::vector<Place>{{0, 4, "p4"}, {0, 5, "after4"}});
  CHECK(l.sent(1) == Sent{"4:0", "5:0"});
}

TEST_CASE("Producer: ranks that are all ahead are followed ahead") {
  Line l;
  l.producer.on_report(l.report(0, {}), at_ms(0));
  l.read(0);
  l.producer.on_report(l.report(0, {0, 9, "p9"}), at_ms(1));
  CHECK(l.read(1)[0] == Place{0, 9, "p9"});
}

TEST_CASE("Producer: a seek ends the read under way, its late window is dropped") {
  Line l;
  l.producer.on_report(l.report(0, {}), at_ms(0));
  const auto old = l.producer.take_reads(at_ms(0));
  l.producer.on_report(l.report(0, {0, 9, "p9"}), at_ms(1));
  CHECK_FALSE(l.producer.wanted(old[0].ticket));
  CHECK_FALSE(l.producer.on_window(old[0].ticket, Line::window(old[0]), at_ms(2)));
  CHECK(l.producer.counters().reads_dropped == 1);
  CHECK(l.producer.held() == 0);
  const auto reads = l.producer.take_reads(at_ms(2));
  REQUIRE(reads.size() == 1);
  CHECK(reads[0].place.index == 9);
}

TEST_CASE("Producer: a window goes once to all ranks that lack it, then waits for its lease") {
  Line l(1);
  l.producer.on_report(l.report(0, {}), at_ms(0));
  l.producer.on_report(l.report(1, {}), at_ms(0));
  l.read(0);
  CHECK(l.sent(0) == Sent{"0:01"});
  CHECK(l.sent(4900).empty());
  for (const std::uint32_t rank : {0u, 1u}) l.producer.on_report(l.report(rank, {}), at_ms(5000));
  CHECK(l.sent(5000) == Sent{"0:01"});  // the lease of 5 s has ended
  CHECK(l.producer.counters().windows_sent_again == 1);
}

TEST_CASE("Producer: what a sink holds by its latest report is not sent to it") {
  Line l(1);
  l.producer.on_report(l.report(0, {}), at_ms(0));
  l.producer.on_report(l.report(1, {}, {{0, 0, 0}}), at_ms(0));
  l.read(0);
  CHECK(l.sent(0) == Sent{"0:0"});
  l.producer.on_report(l.report(1, {}), at_ms(1));  // it lost it: only the latest report counts
  CHECK(l.sent(1) == Sent{"0:1"});
}

TEST_CASE("Producer: what lies below a rank's place is not sent to it") {
  Line l;
  l.producer.on_report(l.report(0, {}), at_ms(0));
  l.producer.on_report(l.report(1, {0, 1, "after0"}), at_ms(0));
  l.read(0);
  CHECK(l.sent(0) == Sent{"0:0", "1:01"});
}

TEST_CASE("Producer: nothing is sent to a sink that has been silent") {
  Line l(1);
  l.producer.on_report(l.report(0, {}), at_ms(0));
  l.read(0);
  CHECK(l.sent(3001).empty());
  l.producer.on_report(l.report(0, {}), at_ms(3002));
  CHECK(l.sent(3002) == Sent{"0:0"});
}

TEST_CASE("Producer: a new life of a sink gets everything at once, where it is now") {
  Line l(1);
  l.producer.on_report(l.report(0, {}), at_ms(0));
  l.read(0);
  l.sent(0);
  Report r = l.report(0, {});
  r.session = 999;
  r.heard = Heard{{}, 1};
  r.endpoint = "tcp://elsewhere:1";
  l.producer.on_report(r, at_ms(10));
  std::string where;
  l.producer.dispatch(at_ms(10), [&](const Window& w) {
    where = w.to.at(0).endpoint;
    CHECK(w.envelope == Envelope{77, 2});
    return true;
  });
  CHECK(where == "tcp://elsewhere:1");
}

TEST_CASE(
    "Producer: when no packer can be written no lease starts, and the notice says since when") {
  Line l;
  l.producer.on_report(l.report(0, {}), at_ms(0));
  l.read(0);
  CHECK(l.sent(100, false).empty());
  CHECK(l.producer.blocked());
  CHECK(l.producer.notice(0, at_ms(600)).unsent_ms == 500);
  CHECK(l.sent(700) == Sent{"0:0", "1:0"});
  CHECK_FALSE(l.producer.blocked());
  CHECK(l.producer.notice(1, at_ms(800)).unsent_ms == 0);
}

TEST_CASE("Producer: other jobs, other dp_sizes and impossible ranks or lanes change nothing") {
  Line l;
  Report r = l.report(0, {});
  r.envelope.job = 78;
  l.producer.on_report(r, at_ms(0));
  r = l.report(0, {});
  r.envelope.dp_size = 4;
  l.producer.on_report(r, at_ms(0));
  r = l.report(2, {});
  l.producer.on_report(r, at_ms(0));
  r = l.report(0, {});
  r.lanes[0].first = 1;
  l.producer.on_report(r, at_ms(0));
  r = l.report(0, {3, 0, ""});
  l.producer.on_report(r, at_ms(0));
  CHECK(l.producer.counters().refused_other_job == 1);
  CHECK(l.producer.counters().refused_other_dp_size == 1);
  CHECK(l.producer.counters().refused_bad == 3);
  CHECK(l.read(0).empty());
}

TEST_CASE("Producer: ACTIVE becomes FINISHED when every rank is done, not before") {
  Line l;
  for (const std::uint32_t rank : {0u, 1u}) {
    l.producer.tick(at_ms(1));
    CHECK(l.producer.state() == ProducerState::kActive);
    Report r = l.report(rank, {2, 0, ""});
    r.done = true;
    l.producer.on_report(r, at_ms(1));
  }
  CHECK_FALSE(l.producer.notice(1, at_ms(2)).finished);
  l.producer.tick(at_ms(2));
  CHECK(l.producer.state() == ProducerState::kFinished);
  CHECK(l.producer.notice(1, at_ms(2)).finished);
}

TEST_CASE("Producer: FINISHED becomes DONE after all said bye and half a linger") {
  Line l;
  for (const std::uint32_t rank : {0u, 1u}) {
    Report r = l.report(rank, {2, 0, ""});
    r.done = r.bye = true;
    l.producer.on_report(r, at_ms(0));
  }
  l.producer.tick(at_ms(0));
  l.producer.tick(at_ms(2000));
  CHECK(l.producer.state() == ProducerState::kFinished);
  l.producer.tick(at_ms(2001));
  REQUIRE(l.producer.state() == ProducerState::kDone);
  CHECK(l.producer.exit()->code == ExitCode::kDone);
}

TEST_CASE("Producer: FINISHED becomes DONE after a linger of silence") {
  Line l;
  for (const std::uint32_t rank : {0u, 1u}) {
    Report r = l.report(rank, {2, 0, ""});
    r.done = true;
    l.producer.on_report(r, at_ms(0));
  }
  l.producer.tick(at_ms(0));
  l.producer.tick(at_ms(4000));
  CHECK(l.producer.state() == ProducerState::kFinished);
  l.producer.tick(at_ms(4001));
  CHECK(l.producer.exit()->code == ExitCode::kDone);
}

TEST_CASE("Producer: ACTIVE becomes DONE, by name, when no sink reports for fail_after") {
  Line l;
  l.producer.tick(at_ms(600000));
  CHECK_FALSE(l.producer.exit());
  l.producer.tick(at_ms(600001));
  REQUIRE(l.producer.exit());
  CHECK(l.producer.exit()->code == ExitCode::kUnreachable);
  CHECK(l.producer.exit()->text.find("producer 0: no sink has reported for 600 s") == 0);
  CHECK_FALSE(l.producer.notice(0, at_ms(600001)).finished);
}

// L7: "Any process that waits can say for what, for whom, and since when."
TEST_CASE("Producer: says for what and whom it waits") {
  Line l;
  auto waits = l.producer.waits(at_ms(1000), 0);
  REQUIRE(waits.size() == 2);
  CHECK(waits[1] == Wait{"its first report", "sink 1", 1000});
  l.producer.on_report(l.report(0, {0, 3, "p3"}), at_ms(1000));
  l.producer.on_report(l.report(1, {0, 1, "p1"}), at_ms(1000));
  l.read(1000);
  l.sent(1000, false);
  waits = l.producer.waits(at_ms(3000), 0);
  REQUIRE(waits.size() == 2);
  CHECK(waits[0].whom == "packers (none is connected: start one)");
  CHECK(waits[0].since_ms == 2000);
  CHECK(waits[1].whom == "sink 1");
  CHECK(waits[1].since_ms == 2000);
}

TEST_CASE("Producer: where a trainer may rest between evaluations, that it does is no trouble") {
  for (const bool fails : {true, false}) {
    ProducerSettings settings;
    settings.job = {77, 1, kContinuous, 1};
    settings.absent_trainer_fails = fails;
    Producer producer(settings, at_ms(0));
    Report r;
    r.envelope = {77, 1};
    r.session = 5;
    r.seq = 1;
    producer.on_report(r, at_ms(0));
    CHECK(producer.waits(at_ms(1000), 1) ==
          std::vector<Wait>{{"its trainer to subscribe", "sink 0", 1000, !fails}});
    CHECK(producer.take_reads(at_ms(1000)).empty());  // nobody has asked
  }
}

TEST_CASE("Notice: tells heads, reads, what is on its way and who is slowest") {
  Line l;
  l.producer.on_report(l.report(0, {0, 4, "p4"}), at_ms(0));
  l.producer.on_report(l.report(1, {0, 3, "p3"}), at_ms(0));
  CHECK(l.producer.take_reads(at_ms(0)).size() == 1);
  Notice n = l.producer.notice(2, at_ms(250));
  CHECK(n.lanes == std::vector<LaneNotice>{{0, true, 0, 3, 0, true, 250}});
  CHECK_FALSE(n.slowest_rank);
  CHECK(n.identity == l.settings.identity);
  CHECK(n.packers == 2);

  Line m;
  m.producer.on_report(m.report(0, {0, 4, "p4"}), at_ms(0));
  m.producer.on_report(m.report(1, {0, 3, "p3"}), at_ms(0));
  m.read(0);
  m.sent(1000);
  m.producer.on_report(m.report(0, {0, 4, "p4"}, {{0, 0, 4}}), at_ms(1500));
  n = m.producer.notice(2, at_ms(3000));
  CHECK(n.lanes == std::vector<LaneNotice>{{0, true, 0, 5, 2, false, 0}});
  CHECK(n.sent ==
        std::vector<SentWindow>{{{0, 0, 3}, 1, 2000, 1, 3000}, {{0, 0, 4}, 1, 2000, 1, 3000}});
  CHECK(n.slowest_rank == 1);
  CHECK(n.slowest_silent_ms == 3000);
}

// P3: "A position that is none of the job's is refused": anybody who can subscribe names positions.
TEST_CASE("Producer: a place that cannot be read stops its lane until the base is another one") {
  Line l;
  l.producer.on_report(l.report(0, {0, 3, "garbage"}), at_ms(0));
  const auto reads = l.producer.take_reads(at_ms(0));
  REQUIRE(reads.size() == 1);
  CHECK(l.producer.on_refused(reads[0].ticket, "no position of this job"));
  CHECK(l.producer.state() == ProducerState::kActive);
  CHECK(l.producer.counters().places_refused == 1);
  for (int ms = 200; ms < 1000; ms += 200) {
    l.producer.on_report(l.report(0, {0, 3, "garbage"}), at_ms(ms));
    l.producer.tick(at_ms(ms));
    CHECK(l.producer.take_reads(at_ms(ms)).empty());
  }
  const Notice n = l.producer.notice(1, at_ms(1000));
  REQUIRE(n.lanes[0].refused);
  CHECK(*n.lanes[0].refused == RefusedPlace{xxh3("garbage"), "no position of this job"});
  CHECK(n.lanes[0].index == 3);
  const auto waits = l.producer.waits(at_ms(1000), 1);
  REQUIRE(waits.size() == 2);  // the other: sink 1 has not reported yet
  CHECK(waits[1] ==
        Wait{"a cursor that it can read in lane 0 (no position of this job)", "sink 0", 1000});

  l.producer.on_report(l.report(0, {0, 3, "p3"}), at_ms(1100));  // the same window, elsewhere
  CHECK(l.read(1100) == std::vector<Place>{{0, 3, "p3"}, {0, 4, "after3"}});
  CHECK_FALSE(l.producer.notice(1, at_ms(1100)).lanes[0].refused);
}

TEST_CASE("Producer: a refusal that comes too late changes nothing") {
  Line l;
  l.producer.on_report(l.report(0, {0, 3, "garbage"}), at_ms(0));
  const auto old = l.producer.take_reads(at_ms(0));
  l.producer.on_report(l.report(0, {0, 3, "p3"}), at_ms(1));
  CHECK_FALSE(l.producer.on_refused(old[0].ticket, "no position of this job"));
  CHECK(l.read(1).size() == 2);
}

TEST_CASE("Producer: a lane that cannot be read holds up no other lane") {
  Line l;
  l.settings.job.lanes = 2;
  l.producer = Producer(l.settings, at_ms(0));
  Report r = l.report(0, {0, 3, "garbage"});
  r.lanes.emplace_back(1, Place{0, 3, "p3"});
  l.producer.on_report(r, at_ms(0));
  auto reads = l.producer.take_reads(at_ms(0));
  REQUIRE(reads.size() == 2);
  l.producer.on_refused(reads[0].ticket, "no position of this job");
  CHECK(l.producer.on_window(reads[1].ticket, Line::window(reads[1]), at_ms(0)));
  CHECK(l.sent(0) == Sent{"3:0"});
  reads = l.producer.take_reads(at_ms(0));
  REQUIRE(reads.size() == 1);
  CHECK(reads[0].lane == 1);
}

TEST_CASE("Notice: what it says of places that cannot be read is bounded") {
  ProducerSettings s;
  s.job = {77, 200, 1, 1};
  Producer p(s, at_ms(0));
  Report r;
  r.envelope = {77, 1};
  r.session = r.seq = 1;
  r.live = true;
  for (std::uint32_t lane = 0; lane < 200; ++lane)
    r.lanes.emplace_back(lane, Place{0, 1, std::string(100000, 'x')});
  p.on_report(r, at_ms(0));
  for (const ReadRequest& read : p.take_reads(at_ms(0)))
    p.on_refused(read.ticket, std::string(100000, 'y'));
  std::size_t bytes = 0;
  for (const LaneNotice& lane : p.notice(0, at_ms(1)).lanes) {
    REQUIRE(lane.refused);
    bytes += lane.refused->text.size();
  }
  CHECK(bytes > 64 * 512);
  CHECK(bytes < 64 * 600);
}

TEST_CASE("Producer: owns the lanes that are its own modulo the producers") {
  ProducerSettings s;
  s.index = 1;
  s.producers = 2;
  s.job = {77, 5, 1, 1};
  const Producer p(s, at_ms(0));
  const Notice n = p.notice(0, at_ms(0));
  REQUIRE(n.lanes.size() == 2);
  CHECK(n.lanes[0].lane == 1);
  CHECK(n.lanes[1].lane == 3);
  CHECK_FALSE(n.lanes[0].has_head);
}

}  // namespace
}  // namespace packline

#include "sink/sink.h"

#include "lib/hash/xxh3.h"
#include "tests/unit/sink/sink_fixture.h"

namespace packline {
namespace {

Cursor after(const Cursor& c, const Slice& s) {
  return after_window({77, 2, 3, 2}, c, s.after, s.last);
}

TEST_CASE("Sink: a Subscribe without a want is answered by what job this is") {
  Line l;
  Subscribe s = l.subscribe({});
  s.want.reset();
  s.envelope = {};
  l.sink.on_subscribe("a", s, at_ms(1));
  const auto w = l.told<Welcome>();
  REQUIRE(w.size() == 1);
  CHECK(w[0].envelope == Envelope{77, 2});
  CHECK(w[0].session == s.session);
  CHECK(w[0].capacity == 8192);
  CHECK(w[0].start == Line::start());
  CHECK(l.sink.state() == SinkState::kWaiting);
}

TEST_CASE("Sink: WAITING becomes SERVING with the first want, before it nothing is kept") {
  Line l;
  l.sink.on_slice(Line::slice(0, 0, 0), at_ms(1));
  CHECK(l.sink.held() == 0);
  CHECK(l.sink.counters().slices_early == 1);
  l.sink.on_subscribe("a", l.subscribe(Line::start()), at_ms(2));
  CHECK(l.sink.state() == SinkState::kServing);
  l.sink.on_slice(Line::slice(0, 0, 0), at_ms(3));
  CHECK(l.sink.held() == 1);
}

TEST_CASE("Sink: a slice that it already holds, or that lies below the mark, changes nothing") {
  Line l;
  Cursor c = after(Line::start(), Line::slice(0, 0, 0));
  l.sink.on_subscribe("a", l.subscribe(c), at_ms(1));
  l.sink.on_slice(Line::slice(0, 0, 0), at_ms(2));
  l.sink.on_slice(Line::slice(1, 0, 0), at_ms(2));
  l.forget();
  l.sink.on_slice(Line::slice(1, 0, 0), at_ms(3));
  CHECK(l.sink.counters().slices_had == 2);
  CHECK(l.sink.held() == 1);
  CHECK(l.outputs().empty());
}

// S3, and all readers treat bytes as hostile: a cursor comes from outside.
TEST_CASE("Sink: a cursor at another position than the line's is told, and ends nothing") {
  Line l;
  Cursor wrong = after(Line::start(), Line::slice(0, 0, 0));
  wrong.lanes[0].position = "elsewhere";
  l.sink.on_slice(Line::slice(0, 0, 1), at_ms(0));
  l.sink.on_subscribe("a", l.subscribe(wrong), at_ms(1));
  CHECK(l.told<ErrorMessage>().empty());
  l.sink.on_slice(Line::slice(1, 0, 0), at_ms(2));
  l.sink.on_slice(Line::slice(0, 0, 1), at_ms(3));
  const auto told = l.told<ErrorMessage>();
  REQUIRE(told.size() == 1);
  CHECK(told[0].reason == ErrorReason::kOtherJob);
  CHECK(told[0].text ==
        "sink 1: the cursor's position in lane 0 (window 1 of it, epoch 0) is not where the line "
        "made that window: a checkpoint was changed by hand, or the ranks loaded different ones; "
        "go on from one that all of them share");
  CHECK(l.sink.held() == 1);  // lane 1's
  CHECK(l.sink.counters().slices_misfit == 1);

  // The rank comes back with the right one, and the slice is sent again.
  l.sink.on_subscribe("a", l.subscribe(after(Line::start(), Line::slice(0, 0, 0)), 4, 0, 2),
                      at_ms(4));
  l.sink.on_slice(Line::slice(0, 0, 1), at_ms(5));
  CHECK(l.sink.held() == 2);
  CHECK(l.sink.counters().slices_misfit == 1);
}

// P3: "The sink tells it to each rank that wants exactly that place."
TEST_CASE("Sink: who wants a place that a producer cannot read is told, others are not") {
  Line l(3);
  Cursor wrong = after(Line::start(), Line::slice(0, 0, 0));
  wrong.lanes[0].position = "garbage";
  l.sink.on_subscribe("a", l.subscribe(wrong, 4, 0), at_ms(1));
  l.sink.on_subscribe("b", l.subscribe(after(Line::start(), Line::slice(0, 0, 0)), 4, 1), at_ms(1));
  l.sink.on_subscribe("c", l.subscribe(Line::start(), 4, 2), at_ms(1));
  Notice n = l.notice(0);
  n.lanes = {
      {0, true, 0, 1, 0, false, 0, "", RefusedPlace{xxh3("garbage"), "no position of this job"}}};
  l.sink.on_notice(n, at_ms(2));
  const auto errors = l.told<ErrorMessage>();
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].reason == ErrorReason::kOtherJob);
  CHECK(errors[0].text ==
        "sink 1: producer 0 cannot read where the cursor stands: no position of this job");
  CHECK(l.told<ErrorMessage>("b").empty());
  CHECK(l.told<ErrorMessage>("c").empty());
  CHECK(l.sink.state() == SinkState::kServing);

  // One that is the job's, but gone, is the data's trouble.
  l.forget();
  n.lanes[0].refused->gone = true;
  l.sink.on_notice(n, at_ms(2));
  REQUIRE(l.told<ErrorMessage>().size() == 1);
  CHECK(l.told<ErrorMessage>()[0].reason == ErrorReason::kDataRefused);

  // A notice from before it came back from another checkpoint is not about it.
  l.forget();
  l.sink.on_subscribe("a", l.subscribe(after(Line::start(), Line::slice(0, 0, 0)), 4, 0), at_ms(3));
  l.sink.on_notice(n, at_ms(4));
  CHECK(l.told<ErrorMessage>().empty());
}

TEST_CASE("Sink: what it holds already is compared with a new cursor as well") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start()), at_ms(1));
  l.sink.on_slice(Line::slice(0, 0, 0), at_ms(2));
  Cursor wrong = Line::start();
  wrong.lanes[0].position = "elsewhere";
  l.forget();
  l.sink.on_subscribe("a", l.subscribe(wrong, 4, 0, 2), at_ms(3));
  CHECK(l.told<ErrorMessage>().size() == 1);
  CHECK(l.told<Pack>().empty());
  CHECK(l.sink.held() == 0);
}

TEST_CASE("Sink: slices of another job, dp_size, rank or shape are refused and counted") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start()), at_ms(1));
  Slice s = Line::slice(0, 0, 0);
  s.envelope.job = 1;
  l.sink.on_slice(s, at_ms(2));
  s = Line::slice(0, 0, 0);
  s.envelope.dp_size = 4;
  l.sink.on_slice(s, at_ms(2));
  s = Line::slice(0, 0, 0);
  s.dp_rank = 0;
  l.sink.on_slice(s, at_ms(2));
  s = Line::slice(0, 0, 0);
  s.key.lane = 2;
  l.sink.on_slice(s, at_ms(2));
  s = Line::slice(0, 0, 0);
  s.parts.pop_back();
  l.sink.on_slice(s, at_ms(2));
  CHECK(l.sink.held() == 0);
  CHECK(l.sink.counters().refused_other_job == 1);
  CHECK(l.sink.counters().refused_other_dp_size == 1);
  CHECK(l.sink.counters().refused_bad == 3);
}

// S2: "If want changed: mark = want, also when that is back."
TEST_CASE("Sink: the mark follows what the trainer wants, back too") {
  Line l;
  const Cursor second = after(Line::start(), Line::slice(0, 0, 0));
  const Cursor third = after(second, Line::slice(1, 0, 0));
  l.sink.on_subscribe("a", l.subscribe(third), at_ms(1));
  CHECK(l.sink.mark() == third.point);
  l.forget();
  l.sink.on_subscribe("b", l.subscribe(second, 4, 0, 2), at_ms(2));
  CHECK(l.sink.mark() == second.point);
  CHECK(l.sink.counters().went_back == 1);
  REQUIRE(l.reports(1).size() == 1);  // lane 1 is producer 1's
  CHECK(l.reports(1)[0].lanes == std::vector<std::pair<std::uint32_t, Place>>{{1, {0, 0, ""}}});
}

TEST_CASE("Sink: an older or equal number of the same session changes nothing") {
  Line l;
  Subscribe late = l.subscribe(Line::start());
  const Cursor second = after(Line::start(), Line::slice(0, 0, 0));
  l.sink.on_subscribe("a", l.subscribe(second), at_ms(1));
  l.sink.on_subscribe("a", late, at_ms(2));
  CHECK(l.sink.mark() == second.point);
  CHECK(l.sink.counters().subscribes_stale == 1);
}

// S1: "refused with Error if it was replaced before, or is lower than the present one and the
// present one was heard within silent. Else it replaces it."
TEST_CASE("Sink: an older trainer session is fenced, with a sentence") {
  Line l;
  l.sink.on_subscribe("new", l.subscribe(Line::start(), 4, 0, 2), at_ms(0));
  l.sink.on_subscribe("old", l.subscribe(Line::start(), 4, 0, 1), at_ms(3000));
  const auto e = l.told<ErrorMessage>("old");
  REQUIRE(e.size() == 1);
  CHECK(e[0].reason == ErrorReason::kFenced);
  CHECK(e[0].session == TrainerSession{0, 1, 0});
  CHECK(e[0].text.find("sink 1") == 0);
  CHECK(l.sink.counters().sessions_fenced == 1);
}

TEST_CASE(
    "Sink: a lower session gets in when the present one is silent, but never one that was "
    "replaced") {
  Line l;
  l.sink.on_subscribe("high", l.subscribe(Line::start(), 4, 0, 5), at_ms(0));
  l.sink.on_subscribe("slow clock", l.subscribe(Line::start(), 4, 0, 1), at_ms(3001));
  CHECK(l.sink.peers(at_ms(3001))[0].session == TrainerSession{0, 1, 0});
  l.sink.on_subscribe("high", l.subscribe(Line::start(), 4, 0, 5), at_ms(9000));
  CHECK(l.sink.peers(at_ms(9000))[0].session == TrainerSession{0, 1, 0});
  CHECK(l.told<ErrorMessage>("high").size() == 1);
}

TEST_CASE("Sink: says to a trainer why it is not served") {
  const auto refused = [](auto change) {
    Line l;
    Subscribe s = l.subscribe(Line::start());
    change(s);
    l.sink.on_subscribe("a", s, at_ms(1));
    CHECK(l.sink.state() == SinkState::kWaiting);
    const auto e = l.told<ErrorMessage>();
    REQUIRE(e.size() == 1);
    CHECK_FALSE(e[0].text.empty());
    return e[0].reason;
  };
  CHECK(refused([](Subscribe& s) { s.envelope.job = 1; }) == ErrorReason::kOtherJob);
  CHECK(refused([](Subscribe& s) { s.envelope.dp_size = 4; }) == ErrorReason::kOtherDpSize);
  CHECK(refused([](Subscribe& s) { s.dp_rank = 0; }) == ErrorReason::kWrongRank);
  CHECK(refused([](Subscribe& s) { s.peer = 1; }) == ErrorReason::kWrongRank);
  CHECK(refused([](Subscribe& s) { s.want->point.pack = 3; }) == ErrorReason::kNotDivisible);
  CHECK(refused([](Subscribe& s) { s.want->lanes.pop_back(); }) == ErrorReason::kOtherJob);
  CHECK(refused([](Subscribe& s) { s.want->point.window = 7; }) == ErrorReason::kOtherJob);
}

// S4: "while the window at the mark is held and has 0 packs, move the mark over it."
TEST_CASE("Sink: the mark moves over windows without packs and frees their credit") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start()), at_ms(1));
  l.sink.on_slice(Line::slice(1, 0, 0, 0, true), at_ms(2));
  CHECK(l.sink.mark() == StreamPoint{0, 0, 0});  // window 0 is not here yet
  l.sink.on_slice(Line::slice(0, 0, 0, 0, true), at_ms(3));
  CHECK(l.sink.mark() == StreamPoint{1, 0, 0});
  CHECK(l.sink.held() == 0);
}

TEST_CASE("Sink: reports on change and every 200 ms, to each producer of its lanes") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start()), at_ms(1000));
  l.sink.on_slice(Line::slice(1, 0, 0), at_ms(1100));
  l.forget();
  l.sink.tick(at_ms(1299));
  CHECK(l.outputs().empty());
  l.sink.tick(at_ms(1300));
  REQUIRE(l.reports(0).size() == 1);
  REQUIRE(l.reports(1).size() == 1);
  const Report r = l.reports(1)[0];
  CHECK(r.envelope == Envelope{77, 2});
  CHECK(r.dp_rank == 1);
  CHECK(r.session == 9);
  CHECK(r.endpoint == "ipc:///s1");
  CHECK(r.heard == Heard{TrainerSession{0, 1, 0}, 1});
  CHECK(r.live);
  CHECK(r.held == std::vector<WindowKey>{{1, 0, 0}});
  CHECK(l.reports(0)[0].held.empty());
  CHECK(l.reports(0)[0].seq != r.seq);
}

TEST_CASE("Sink: a report of a sink whose trainer has gone silent says so") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start()), at_ms(0));
  l.forget();
  l.sink.tick(at_ms(3000));
  REQUIRE(l.reports(0).size() == 1);
  CHECK_FALSE(l.reports(0)[0].live);
}

TEST_CASE("Sink: of several ranks the slowest want is the mark, each is served from its own") {
  Line l(2);
  const Slice w0 = Line::slice(0, 0, 0);
  const Cursor second = after(Line::start(), w0);
  l.sink.on_subscribe("fast", l.subscribe(second, 1, 0), at_ms(1));
  l.sink.on_subscribe("slow", l.subscribe(Line::start(), 1, 1), at_ms(1));
  CHECK(l.sink.mark() == StreamPoint{0, 0, 0});
  l.sink.on_slice(w0, at_ms(2));
  l.sink.on_slice(Line::slice(1, 0, 0), at_ms(2));
  CHECK(points(l.told<Pack>("fast")) == Points{{0, 1, 1}});
  CHECK(points(l.told<Pack>("slow")) == Points{{0, 0, 1}});
  CHECK(l.sink.held() == 2);
  l.sink.on_subscribe("slow", l.subscribe(second, 1, 1), at_ms(3));
  CHECK(l.sink.held() == 1);
}

TEST_CASE("Sink: it is done when every one of its ranks is") {
  Line l(2);
  for (const std::uint32_t peer : {0u, 1u}) {
    Subscribe s = l.subscribe(Line::start(), 1, peer);
    s.done = true;
    l.forget();
    l.sink.on_subscribe("a", s, at_ms(1));
    REQUIRE_FALSE(l.reports(0).empty());
    CHECK(l.reports(0).back().done == (peer == 1));
  }
}

}  // namespace
}  // namespace packline

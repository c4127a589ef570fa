// Rule S5, and law L7's Waiting.

#include "tests/unit/sink/sink_fixture.h"

namespace packline {
namespace {

TEST_CASE("Serve: packs in order up to the room, each once") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 3), at_ms(0));
  l.sink.on_slice(Line::slice(1, 0, 0), at_ms(1));
  CHECK(l.told<Pack>().empty());  // window 0 comes first
  l.sink.on_slice(Line::slice(0, 0, 0), at_ms(2));
  l.sink.tick(at_ms(200));
  const auto packs = l.told<Pack>();
  CHECK(points(packs) == Points{{0, 0, 1}, {0, 0, 3}, {0, 1, 1}});
  CHECK(packs[0].from == StreamPoint{0, 0, 0});
  CHECK(packs[0].after == StreamPoint{0, 0, 2});
  CHECK(!packs[0].lanes);  // as before the window, until its last pack
  CHECK(packs[1].from == packs[0].after);
  CHECK(packs[1].after == StreamPoint{0, 1, 0});
  CHECK(packs[1].lanes == std::vector<Place>{{0, 1, "0.1"}, {0, 0, ""}});
  CHECK(packs[1].body.digest == 103);
  CHECK(packs[2].session == TrainerSession{0, 1, 0});
}

TEST_CASE("Serve: room that grows is used at once") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 1), at_ms(0));
  l.sink.on_slice(Line::slice(0, 0, 0), at_ms(1));
  CHECK(l.told<Pack>().size() == 1);
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 2), at_ms(2));
  CHECK(points(l.told<Pack>()) == Points{{0, 0, 1}, {0, 0, 3}});
}

TEST_CASE("Serve: no room is so large that the transport could not queue what is sent for it") {
  SinkSettings settings = Line::make(1, 2);
  settings.room_max = 3;
  Line l;
  l.sink = Sink(std::move(settings), at_ms(0));
  l.sink.on_slice(Line::slice(0, 0, 0), at_ms(0));
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 1u << 31), at_ms(1));
  l.sink.on_slice(Line::slice(0, 0, 0), at_ms(2));
  l.sink.on_slice(Line::slice(1, 0, 0), at_ms(2));
  const auto packs = l.told<Pack>();
  CHECK(packs.size() == 3);
  l.sink.on_subscribe("a", l.subscribe(Line::cursor_after(Line::start(), packs[0]), 1u << 31),
                      at_ms(3));
  CHECK(l.told<Pack>().size() == 4);
}

// A checkpoint that was changed by hand: all readers treat bytes as hostile.
TEST_CASE("Serve: a cursor behind the packs of its window is refused, and a later one is served") {
  for (const std::uint64_t pack : {std::uint64_t{4}, std::uint64_t{1000}, ~std::uint64_t{1}}) {
    Line l;
    Cursor bad = Line::start();
    bad.point.pack = pack;
    l.sink.on_subscribe("a", l.subscribe(bad), at_ms(0));
    l.sink.on_slice(Line::slice(0, 0, 0), at_ms(1));
    l.sink.tick(at_ms(2));
    const auto errors = l.told<ErrorMessage>();
    REQUIRE(errors.size() == 1);  // and not one a turn
    CHECK(errors[0].text == "sink 1: the cursor stands at pack " + std::to_string(pack) +
                                " of window 0 of epoch 0, which has 4 packs: the checkpoint was "
                                "cut or changed by hand, go "
                                "on from another");
    CHECK(l.told<Pack>().empty());
    l.sink.on_subscribe("a", l.subscribe(Line::start(), 1, 0, 2), at_ms(3));
    CHECK(points(l.told<Pack>()) == Points{{0, 0, 1}});
  }
}

// S5: "again after a pack lease without progress: then all from want on, not the first alone."
TEST_CASE("Serve: without progress for a pack lease everything from the want on goes out again") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 2), at_ms(0));
  l.sink.on_slice(Line::slice(0, 0, 0), at_ms(0));
  l.forget();
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 3), at_ms(200));
  l.sink.on_slice(Line::slice(1, 0, 0), at_ms(200));
  CHECK(points(l.told<Pack>()) == Points{{0, 1, 1}});
  l.forget();
  l.sink.tick(at_ms(399));
  CHECK(l.told<Pack>().empty());
  l.sink.tick(at_ms(400));
  CHECK(points(l.told<Pack>()) == Points{{0, 0, 1}, {0, 0, 3}, {0, 1, 1}});
  CHECK(l.sink.counters().packs_sent_again == 3);
}

TEST_CASE("Serve: a trainer that begins anew gets everything again, and its old self nothing") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 2), at_ms(0));
  l.sink.on_slice(Line::slice(0, 0, 0), at_ms(0));
  l.sink.on_subscribe("b", l.subscribe(Line::start(), 2, 0, 2), at_ms(1));
  CHECK(l.told<Pack>("b").size() == 2);
  CHECK(l.told<Pack>("a").size() == 2);
}

// "the ledgers of every window finished in (from, after]": each is told exactly once.
TEST_CASE("Serve: a ledger goes with the pack that finishes its window") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 2), at_ms(0));
  l.sink.on_slice(Line::slice(0, 0, 0), at_ms(0));
  const auto packs = l.told<Pack>();
  REQUIRE(packs.size() == 2);
  CHECK(packs[0].passed.empty());
  REQUIRE(packs[1].passed.size() == 1);
  CHECK(packs[1].passed[0].epoch == 0);
  CHECK(packs[1].passed[0].tally.ledger.records_read == 10);
  CHECK(packs[1].passed[0].tally.packs == 0);
}

TEST_CASE(
    "Serve: ledgers of windows without packs are told with what follows them, also once freed") {
  Line l(2);
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 4, 0), at_ms(0));
  l.sink.on_subscribe("b", l.subscribe(Line::start(), 0, 1), at_ms(0));
  l.sink.on_slice(Line::slice(0, 0, 0, 0, true), at_ms(1));
  l.sink.on_slice(Line::slice(1, 0, 0, 2, false), at_ms(1));
  CHECK(l.sink.mark() == StreamPoint{0, 1, 0});
  auto packs = l.told<Pack>("a");
  REQUIRE(packs.size() == 1);
  CHECK(packs[0].from == StreamPoint{0, 0, 0});
  REQUIRE(packs[0].passed.size() == 1);
  CHECK(packs[0].passed[0].tally.ledger.records_read == 20);
  // The second rank, which had no room until now, is told the same.
  l.sink.on_subscribe("a", l.subscribe(Line::cursor_after(Line::start(), packs[0]), 4, 0),
                      at_ms(2));
  l.sink.on_subscribe("b", l.subscribe(Line::start(), 1, 1), at_ms(3));
  packs = l.told<Pack>("b");
  REQUIRE(packs.size() == 1);
  CHECK(packs[0].passed[0].tally.ledger.records_read == 20);
}

// S5: "Where windows without packs end an epoch, and at the job's end: End."
TEST_CASE("Serve: an epoch that ends without packs is told by an End, before the next pack") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 4), at_ms(0));
  l.sink.on_slice(Line::slice(0, 0, 0, 2, true), at_ms(1));
  l.sink.on_slice(Line::slice(1, 0, 0, 0, true), at_ms(1));
  CHECK(l.told<End>().empty());  // not before the next window with packs is known
  l.sink.on_slice(Line::slice(0, 1, 0, 2), at_ms(2));
  const auto ends = l.told<End>();
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].from == StreamPoint{0, 1, 0});
  CHECK(ends[0].cursor.point == StreamPoint{1, 0, 0});
  CHECK_FALSE(ends[0].released);
  REQUIRE(ends[0].passed.size() == 1);
  CHECK(ends[0].passed[0].tally.ledger.records_read == 10);
  const auto packs = l.told<Pack>();
  REQUIRE(packs.size() == 2);
  CHECK(packs[1].from == StreamPoint{1, 0, 0});
  CHECK(packs[1].passed[0].epoch == 1);
}

TEST_CASE("Serve: the job's end after windows without packs is told by an End, and again") {
  Line l;
  const std::vector<Place> last_epoch(2, Place{2, 0, ""});
  l.sink.on_subscribe("a", l.subscribe({{2, 0, 0}, last_epoch}, 4), at_ms(0));
  l.sink.on_slice(Line::slice(0, 2, 0, 0, true), at_ms(1));
  l.sink.on_slice(Line::slice(1, 2, 0, 0, true), at_ms(1));
  REQUIRE(l.told<End>().size() == 1);
  CHECK(l.told<End>()[0].cursor.point == StreamPoint{3, 0, 0});
  CHECK(l.told<End>()[0].passed[0].tally.ledger.records_read == 20);
  l.sink.tick(at_ms(400));
  CHECK(l.told<End>().size() == 1);
  l.sink.tick(at_ms(401));
  CHECK(l.told<End>().size() == 2);
}

// L7: "No wait without a name."
TEST_CASE("Serve: a starving trainer is told once a second what is missing and why") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 4), at_ms(0));
  l.sink.tick(at_ms(999));
  CHECK(l.told<Waiting>().empty());
  l.sink.tick(at_ms(1000));
  l.sink.tick(at_ms(1900));
  REQUIRE(l.told<Waiting>().size() == 1);
  CHECK(l.told<Waiting>()[0].since_ms == 1000);
  CHECK(l.told<Waiting>()[0].text ==
        "sink 1 misses window 0 of epoch 0 (lane 0); producer 0, which makes it, has not been "
        "heard in 1 s: "
        "is it running?");
  l.sink.tick(at_ms(2000));
  CHECK(l.told<Waiting>().size() == 2);
  CHECK(l.sink.waits(at_ms(2000))[0].since_ms == 2000);
}

TEST_CASE("Serve: who has packs on the way, or no room, is not starving") {
  Line l;
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 4), at_ms(0));
  l.sink.on_slice(Line::slice(0, 0, 0), at_ms(0));
  l.sink.tick(at_ms(5000));
  l.sink.on_subscribe("a", l.subscribe(Line::start(), 0), at_ms(5000));
  l.sink.tick(at_ms(9000));
  CHECK(l.told<Waiting>().empty());
}

}  // namespace
}  // namespace packline

#include "lib/client/subscriber.h"

#include <doctest/doctest.h>

#include <limits>

namespace packline {
namespace {

using std::chrono::milliseconds;

Instant at_ms(int ms) { return Instant{milliseconds(ms)}; }
const TrainerSession kMe{0, 5, 1};
const JobShape kJob{77, 1, 2, 1};  // one lane, two epochs

// Rank 3 of a job whose windows have one pack each.
struct Client {
  explicit Client(std::optional<Cursor> begin = std::nullopt, std::uint32_t room = 2)
      : rank(settings(std::move(begin), room), at_ms(0)) {}

  static SubscriberSettings settings(std::optional<Cursor> begin, std::uint32_t room) {
    SubscriberSettings s;
    s.dp_rank = 3;
    s.session = kMe;
    s.room = room;
    s.endpoint = "ipc:///s3";
    s.begin = std::move(begin);
    return s;
  }

  Client& welcomed(int ms = 0) {
    Welcome w;
    w.envelope = {77, 1};
    w.session = kMe;
    w.epochs = 2;
    w.start = start_cursor(kJob);
    w.fail_after_ms = 60000;
    rank.on_welcome(w, at_ms(ms));
    return *this;
  }

  static Cursor after(const Cursor& c, bool last = false) {
    return after_window(kJob, c, "p" + std::to_string(c.lanes[0].index + 1), last);
  }

  static Pack pack(const Cursor& from, const Cursor& next) {
    Pack p;
    p.session = kMe;
    p.from = p.at = from.point;
    p.after = next.point;
    if (next.lanes != from.lanes) p.lanes = next.lanes;
    p.body = {11, 2, 30, {}};
    EpochTally t;
    t.epoch = from.point.epoch;
    t.tally.ledger.records_read = 4;
    p.passed = {t};
    return p;
  }

  static End end(const Cursor& from, const Cursor& to, bool released = false) {
    End e;
    e.session = kMe;
    e.from = from.point;
    e.cursor = to;
    e.released = released;
    EpochTally t;
    t.epoch = from.point.epoch;
    t.tally.ledger.records_read = 100;
    if (!released) e.passed = {t};
    return e;
  }

  Subscribe last() {
    const auto all = rank.take_outputs();
    REQUIRE_FALSE(all.empty());
    return all.back();
  }

  Subscriber rank;
};

TEST_CASE("Subscriber: ASKING asks which job this is, again and again") {
  Client c;
  c.rank.tick(at_ms(0));
  const Subscribe s = c.last();
  CHECK(s.envelope.job == 0);
  CHECK_FALSE(s.want);
  CHECK(s.dp_rank == 3);
  c.rank.tick(at_ms(199));
  CHECK(c.rank.take_outputs().empty());
  c.rank.tick(at_ms(200));
  CHECK(c.last().seq > s.seq);
}

TEST_CASE(
    "Subscriber: ASKING becomes RECEIVING with a Welcome to this session, and wants the start") {
  Client c;
  Welcome other;
  other.session = {0, 4, 1};
  c.rank.on_welcome(other, at_ms(0));
  CHECK(c.rank.state() == SubscriberState::kAsking);
  c.welcomed();
  CHECK(c.rank.state() == SubscriberState::kReceiving);
  const Subscribe s = c.last();
  CHECK(s.envelope == Envelope{77, 1});
  CHECK(s.want == start_cursor(kJob));
  CHECK(s.room == 2);
}

TEST_CASE("Subscriber: it wants the cursor that it was given") {
  const Cursor begin = Client::after(start_cursor(kJob));
  Client c(begin);
  c.welcomed();
  CHECK(c.last().want == begin);
  CHECK(c.rank.progress().from == begin.point);
}

// As nanoseconds such a number overflows, and every wait would be too long at once.
TEST_CASE("Subscriber: the longest times that a Welcome can name are no end") {
  Client c;
  Welcome w;
  w.envelope = {77, 1};
  w.session = kMe;
  w.epochs = 2;
  w.start = start_cursor(kJob);
  w.warn_after_ms = w.fail_after_ms = std::numeric_limits<std::uint64_t>::max();
  c.rank.on_welcome(w, at_ms(0));
  CHECK_FALSE(c.rank.take(at_ms(0)));
  c.rank.tick(at_ms(1000000));
  CHECK(c.rank.state() == SubscriberState::kReceiving);
  c.rank.tick(Instant{std::chrono::hours(24 * 7 + 1)});
  CHECK(c.rank.state() == SubscriberState::kDone);
}

TEST_CASE("Subscriber: another job or dp_size ends it by name") {
  SubscriberSettings s = Client::settings(start_cursor(kJob), 2);
  s.job = 78;
  Subscriber job(s, at_ms(0));
  Welcome w;
  w.envelope = {77, 1};
  w.session = kMe;
  job.on_welcome(w, at_ms(0));
  REQUIRE(job.exit());
  CHECK(job.exit()->code == ExitCode::kWrongJob);
  s.job = 77;
  s.dp_size = 4;
  Subscriber size(s, at_ms(0));
  size.on_welcome(w, at_ms(0));
  REQUIRE(size.exit());
  CHECK(size.exit()->text.find("dp_size 1, this trainer has dp_size 4") != std::string::npos);
}

// C2: "accept only if `from` = want's (epoch, window, pack)."
TEST_CASE("Subscriber: takes the pack that follows and no other, once") {
  Client c;
  c.welcomed();
  const Cursor c0 = start_cursor(kJob), c1 = Client::after(c0), c2 = Client::after(c1);
  c.rank.on_pack(Client::pack(c1, c2), at_ms(1));
  CHECK_FALSE(c.rank.ready());
  c.rank.on_pack(Client::pack(c0, c1), at_ms(1));
  c.rank.on_pack(Client::pack(c0, c1), at_ms(1));
  CHECK(c.last().want == c1);
  c.rank.on_pack(Client::pack(c1, c2), at_ms(1));
  CHECK(c.last().room == 0);
  CHECK(c.rank.take(at_ms(2))->at == c0.point);
  CHECK(c.rank.take(at_ms(2))->at == c1.point);
  CHECK_FALSE(c.rank.take(at_ms(2)));
}

TEST_CASE("Subscriber: a pack of another session is none of its") {
  Client c;
  c.welcomed();
  Pack p = Client::pack(start_cursor(kJob), Client::after(start_cursor(kJob)));
  p.session.random = 2;
  c.rank.on_pack(p, at_ms(1));
  CHECK_FALSE(c.rank.ready());
}

TEST_CASE("Subscriber: never more packs than its room") {
  Client c(std::nullopt, 1);
  c.welcomed();
  const Cursor c0 = start_cursor(kJob), c1 = Client::after(c0), c2 = Client::after(c1);
  c.rank.on_pack(Client::pack(c0, c1), at_ms(1));
  c.rank.on_pack(Client::pack(c1, c2), at_ms(1));
  CHECK(c.last().want == c1);
}

// C1: "also when a pack was taken".
TEST_CASE("Subscriber: says at once when it has room again") {
  Client c;
  c.welcomed();
  const Cursor c0 = start_cursor(kJob), c1 = Client::after(c0);
  c.rank.on_pack(Client::pack(c0, c1), at_ms(1));
  CHECK(c.last().room == 1);
  c.rank.take(at_ms(2));
  CHECK(c.last().room == 2);
}

// C3: "the `after` of the last pack handed out (or the cursor it began with)".
TEST_CASE("Subscriber: the cursor is what was handed out, not what was received") {
  Client c;
  c.welcomed();
  const Cursor c0 = start_cursor(kJob), c1 = Client::after(c0);
  CHECK(c.rank.cursor() == c0);
  c.rank.on_pack(Client::pack(c0, c1), at_ms(1));
  CHECK(c.rank.cursor() == c0);
  c.rank.take(at_ms(2));
  CHECK(c.rank.cursor() == c1);
}

TEST_CASE("Subscriber: an End inside the job is handed out with the pack after it") {
  Client c;
  c.welcomed();
  const Cursor c0 = start_cursor(kJob), e1 = Client::after(c0, true), c1 = Client::after(e1);
  REQUIRE(e1.point.epoch == 1);
  c.rank.on_end(Client::end(c0, e1), at_ms(1));
  CHECK(c.last().want == e1);
  CHECK_FALSE(c.rank.take(at_ms(1)));
  CHECK(c.rank.cursor() == c0);  // as on a rank to which the End has not come yet
  CHECK(c.rank.progress().total.ledger.records_read == 0);
  c.rank.on_pack(Client::pack(e1, c1), at_ms(2));
  CHECK(c.rank.take(at_ms(2)));
  CHECK(c.rank.cursor() == c1);
  CHECK(c.rank.progress().total.ledger.records_read == 104);
}

TEST_CASE("Subscriber: the job's end is handed out by a take that gives nothing") {
  Client c(Cursor{{1, 0, 0}, {{1, 0, ""}}});
  c.welcomed();
  const Cursor c0 = *c.rank.cursor(), over = Client::after(c0, true);
  c.rank.on_end(Client::end(c0, over), at_ms(1));
  c.rank.on_end(Client::end(c0, over), at_ms(1));
  CHECK_FALSE(c.rank.ended());
  CHECK_FALSE(c.rank.take(at_ms(1)));
  CHECK(c.rank.ended());
  CHECK(c.rank.cursor() == over);
  CHECK(c.rank.progress().total.ledger.records_read == 100);
  CHECK_FALSE(c.rank.wait(at_ms(60000)));
}

TEST_CASE("Subscriber: counts packs by their own epoch and ledgers by theirs") {
  Client c;
  c.welcomed();
  const Cursor c0 = start_cursor(kJob), c1 = Client::after(c0, true), c2 = Client::after(c1);
  c.rank.on_pack(Client::pack(c0, c1), at_ms(1));
  Pack big = Client::pack(c1, c2);
  big.body.digest = std::numeric_limits<std::uint64_t>::max();
  c.rank.on_pack(big, at_ms(1));
  c.rank.take(at_ms(2));
  c.rank.take(at_ms(2));
  const Progress& p = c.rank.progress();
  CHECK(p.total.packs == 2);
  CHECK(p.total.samples == 4);
  CHECK(p.total.tokens == 60);
  CHECK(p.total.digest == 10);
  REQUIRE(p.epochs.size() == 2);
  CHECK(p.epochs[0].epoch == 0);
  CHECK(p.epochs[0].tally.digest == 11);
  CHECK(p.epochs[1].tally.ledger.records_read == 4);
  CHECK(p.to == c2.point);
  CHECK(c.last().progress.total == p.total);
}

// C4: "done = the last pack was used and the last checkpoint is safe. Repeat until released or for
// close, then leave."
TEST_CASE("Subscriber: CLOSING says done until it is released") {
  Client c;
  c.welcomed();
  const Cursor c0 = *c.rank.cursor();
  CHECK_FALSE(c.last().done);
  c.rank.on_end(Client::end(c0, c0, true),
                at_ms(1));  // released without having said done: not ours
  CHECK(c.rank.state() == SubscriberState::kReceiving);
  c.rank.finish(at_ms(10));
  CHECK(c.rank.state() == SubscriberState::kClosing);
  CHECK(c.last().done);
  c.rank.tick(at_ms(210));
  CHECK(c.last().done);
  c.rank.on_end(Client::end(c0, c0, true), at_ms(300));
  REQUIRE(c.rank.exit());
  CHECK(c.rank.exit()->code == ExitCode::kDone);
}

TEST_CASE("Subscriber: CLOSING becomes DONE after close, released or not") {
  Client c;
  c.welcomed();
  c.rank.finish(at_ms(10));
  c.rank.tick(at_ms(5010));
  CHECK_FALSE(c.rank.exit());
  c.rank.tick(at_ms(5011));
  REQUIRE(c.rank.exit());
  CHECK(c.rank.exit()->code == ExitCode::kDone);
}

TEST_CASE("Subscriber: an Error to its session ends it with that sentence, others do not") {
  Client c;
  c.welcomed();
  ErrorMessage e;
  e.session = {0, 4, 0};
  e.text = "fenced";
  c.rank.on_error(e, at_ms(1));
  CHECK_FALSE(c.rank.exit());
  e.session = kMe;
  c.rank.on_error(e, at_ms(1));
  REQUIRE(c.rank.exit());
  CHECK(*c.rank.exit() == Exit{ExitCode::kUnreachable, "fenced"});
  for (const auto& [why, code] : {std::pair(ErrorReason::kOtherJob, ExitCode::kWrongJob),
                                  std::pair(ErrorReason::kDataRefused, ExitCode::kDataRefused)}) {
    Client other;
    other.welcomed();
    e.reason = why;
    other.rank.on_error(e, at_ms(1));
    REQUIRE(other.rank.exit());
    CHECK(other.rank.exit()->code == code);
  }
}

TEST_CASE(
    "Subscriber: who has said done is not failed by what happens to the line or by a newer start") {
  for (const ErrorReason why : {ErrorReason::kLineFailed, ErrorReason::kFenced}) {
    Client c;
    c.welcomed();
    c.rank.finish(at_ms(1));
    ErrorMessage e;
    e.session = kMe;
    e.reason = why;
    c.rank.on_error(e, at_ms(2));
    REQUIRE(c.rank.exit());
    CHECK(c.rank.exit()->code == ExitCode::kDone);
  }
}

// L7: "rank 3 has waited 30 s for step 1,204: sink 3 misses window 37; ..."
TEST_CASE("Subscriber: a wait has a name, and ends with it after fail_after") {
  Client c;
  c.welcomed();
  CHECK_FALSE(c.rank.wait(at_ms(5000)));  // nobody asked for a pack
  c.rank.take(at_ms(10000));
  Waiting w;
  w.session = kMe;
  w.text = "sink 3 misses window 37";
  c.rank.on_waiting(w, at_ms(39000));
  REQUIRE(c.rank.wait(at_ms(40000)));
  CHECK(*c.rank.wait(at_ms(40000)) ==
        Wait{"rank 3 has waited 30 s for step 0: sink 3 misses window 37", "sink 3", 30000});
  c.rank.on_waiting(w, at_ms(69500));
  c.rank.tick(at_ms(70000));
  CHECK_FALSE(c.rank.exit());
  c.rank.tick(at_ms(70001));
  REQUIRE(c.rank.exit());
  CHECK(*c.rank.exit() ==
        Exit{ExitCode::kUnreachable, "rank 3 has waited 60 s for step 0: sink 3 misses window 37"});
}

TEST_CASE("Subscriber: a sink that does not answer is named, with its address") {
  Client c;
  REQUIRE(c.rank.wait(at_ms(4000)));
  CHECK(c.rank.wait(at_ms(4000))->what ==
        "rank 3 has waited 4 s for step 0: sink 3 at ipc:///s3 has not answered for 4 s: is it "
        "running, and "
        "can it be reached?");
  c.rank.tick(at_ms(600001));
  REQUIRE(c.rank.exit());
  CHECK(c.rank.exit()->code == ExitCode::kUnreachable);
}

TEST_CASE("Subscriber: while it goes on it tells the last two epochs, and all when it is done") {
  Client c(std::nullopt, 8);
  Welcome w;
  w.envelope = {77, 1};
  w.session = kMe;
  w.epochs = 9;
  JobShape job = kJob;
  job.epochs = 9;
  w.start = start_cursor(job);
  c.rank.on_welcome(w, at_ms(0));
  Cursor at = w.start;
  for (int e = 0; e < 4; ++e) {
    const Cursor next = after_window(job, at, "x", true);
    c.rank.on_pack(Client::pack(at, next), at_ms(1));
    CHECK(c.rank.take(at_ms(1)));
    at = next;
  }
  CHECK(c.last().progress.epochs.size() == 2);
  c.rank.finish(at_ms(2));
  CHECK(c.last().progress.epochs.size() == 4);
}

}  // namespace
}  // namespace packline

#include "lib/encoders/record_dispatch.h"

#include <doctest/doctest.h>

#include "tests/unit/encoders/support.h"

namespace packline::test {
namespace {

const Instant t0{};

// The dispatch, and what it sent.
struct Desk {
  RecordDispatch dispatch{settings()};
  std::vector<std::pair<std::string, RecordBatch>> sent;

  void send(Instant now) {
    dispatch.dispatch(now, [&](const std::string& peer, const RecordBatch& b) {
      sent.emplace_back(peer, b);
      return true;
    });
  }
  Struck struck(std::size_t i, std::uint64_t session, std::uint32_t signal = 11) const {
    Struck s;
    s.producer = kProducer;
    s.session = session;
    s.number = sent.at(i).second.number;
    s.signal = signal;
    s.text = fmt::format("signal {}", signal);
    return s;
  }
};

}  // namespace

TEST_CASE("RecordDispatch: a group goes out as one batch and comes back whole") {
  Desk d;
  d.dispatch.submit(5, records(100, 3), t0);
  d.send(t0);
  CHECK(d.sent.empty());  // nobody is there
  d.dispatch.on_state("a", state(1, 1), t0);
  d.send(t0);
  REQUIRE(d.sent.size() == 1);
  const RecordBatch& b = d.sent[0].second;
  CHECK(d.sent[0].first == "a");
  CHECK(b.session == kProducer);
  CHECK(b.lease_ms == 10000);
  CHECK(b.sources.size() == 1);
  REQUIRE(b.records.size() == 3);
  CHECK(b.records[2].id == "s0:102");
  CHECK(!d.dispatch.take());
  d.dispatch.on_encoded("a", answer(b, 1), t0);
  const auto done = d.dispatch.take();
  REQUIRE(done);
  CHECK(done->group == 5);
  REQUIRE(done->records.size() == 3);
  CHECK(done->records[1].samples.ids[0] == "s0:101");
  CHECK(token_of(done->records[1]) == 101);
  CHECK(!d.dispatch.take());
  CHECK(d.dispatch.groups() == 0);
}

TEST_CASE(
    "RecordDispatch: an encoder holds no more batches than its room, and the idlest is next") {
  Desk d;
  for (std::uint64_t g = 1; g <= 6; ++g) d.dispatch.submit(g, records(10 * g, 1), t0);
  d.dispatch.on_state("a", state(1, 1), t0);
  d.dispatch.on_state("b", state(2, 1), t0);
  d.send(t0);
  REQUIRE(d.sent.size() == 4);
  CHECK(d.sent[0].first != d.sent[1].first);
  CHECK(d.sent[2].first != d.sent[3].first);
  CHECK(d.sent[0].second.records[0].id == "s0:10");  // the oldest first
  CHECK(d.sent[3].second.records[0].id == "s0:40");
  d.dispatch.on_encoded(d.sent[1].first, answer(d.sent[1].second, 1), t0);
  d.send(t0);
  REQUIRE(d.sent.size() == 5);
  CHECK(d.sent[4].first == d.sent[1].first);
}

TEST_CASE("RecordDispatch: an encoder that cannot be written is tried again, others go on") {
  Desk d;
  d.dispatch.submit(1, records(1, 1), t0);
  d.dispatch.submit(2, records(2, 1), t0);
  d.dispatch.on_state("a", state(1, 1), t0);
  d.dispatch.on_state("b", state(2, 1), t0);
  d.dispatch.dispatch(t0, [&](const std::string& peer, const RecordBatch& b) {
    if (peer == "a") return false;
    d.sent.emplace_back(peer, b);
    return true;
  });
  CHECK(d.sent.size() == 2);
}

TEST_CASE("RecordDispatch: a record that kills three encoders is lost with the signals") {
  Desk d;
  d.dispatch.submit(1, records(0, 4), t0);
  d.dispatch.on_state("a", state(1, 1), t0);
  d.send(t0);
  d.dispatch.on_struck("a", d.struck(0, 1), t0);
  // Record by record now; the second is the one.
  std::uint32_t signal = 11;
  for (std::size_t next = 1; d.send(t0), next < d.sent.size(); ++next) {
    const auto [peer, batch] = d.sent[next];
    REQUIRE(batch.records.size() == 1);
    if (batch.records[0].id == "s0:1") {
      d.dispatch.on_struck(peer, d.struck(next, 1, signal), t0);
      signal = 6;
    } else {
      d.dispatch.on_encoded(peer, answer(batch, 1), t0);
    }
  }
  const auto done = d.dispatch.take();
  REQUIRE(done);
  CHECK(!done->records[0].lost);
  CHECK(done->records[1].lost);
  CHECK(done->records[1].reason == RecordLoss::kEncoderKilled);
  CHECK(done->records[1].text ==
        "3 encoder processes ended over it: signal 11 (host, process 1), signal 11 (host, process "
        "1), signal 6 (host, process 1)");
  CHECK(token_of(done->records[3]) == 3);
  CHECK(d.dispatch.counters().encoders_lost == 3);
  CHECK(d.dispatch.counters().records_killed == 1);
}

TEST_CASE("RecordDispatch: each strike doubles the lease of what it struck") {
  Desk d;
  d.dispatch.submit(1, records(0, 1), t0);
  for (std::uint64_t i = 0; i < 2; ++i) {
    d.dispatch.on_state("a", state(1, 1 + i), t0);
    d.send(t0);
    d.dispatch.on_struck("a", d.struck(i, 1), t0);
  }
  d.dispatch.on_state("a", state(1, 9), t0);
  d.send(t0);
  REQUIRE(d.sent.size() == 3);
  CHECK(d.sent[0].second.lease_ms == 10000);
  CHECK(d.sent[1].second.lease_ms == 20000);
  CHECK(d.sent[2].second.lease_ms == 40000);
}

TEST_CASE("RecordDispatch: what an encoder took and does not hold is sent again without a strike") {
  Desk d;
  d.dispatch.submit(1, records(0, 2), t0);
  d.dispatch.on_state("a", state(1, 1), t0);
  d.send(t0);
  const std::uint64_t number = d.sent[0].second.number;
  d.dispatch.on_state("a", state(1, 2, {number}, number), t0 + 200ms);
  d.send(t0 + 200ms);
  CHECK(d.sent.size() == 1);
  d.dispatch.on_state("a", state(1, 3, {}, number), t0 + 400ms);
  d.send(t0 + 400ms);
  REQUIRE(d.sent.size() == 2);
  CHECK(d.sent[1].second.records.size() == 2);
  CHECK(d.sent[1].second.lease_ms == 10000);
  CHECK(d.dispatch.counters().batches_sent_again == 1);
}

TEST_CASE("RecordDispatch: what never arrived at an encoder that speaks is sent again") {
  Desk d;
  d.dispatch.submit(1, records(0, 2), t0);
  d.dispatch.on_state("a", state(1, 1), t0);
  d.send(t0);
  for (std::uint64_t i = 1; i <= 14; ++i) {
    const Instant t = t0 + i * 200ms;
    d.dispatch.on_state("a", state(1, 1 + i), t);
    d.dispatch.tick(t);
    d.send(t);
  }
  CHECK(d.sent.size() == 1);
  d.dispatch.on_state("a", state(1, 99), t0 + 3s);
  d.dispatch.tick(t0 + 3s);
  d.send(t0 + 3s);
  CHECK(d.sent.size() == 2);
}

TEST_CASE(
    "RecordDispatch: a silent encoder's batches go to another; its late answer is no second") {
  Desk d;
  d.dispatch.submit(1, records(0, 2), t0);
  d.dispatch.on_state("a", state(1, 1), t0);
  d.send(t0);
  const RecordBatch first = d.sent[0].second;
  d.dispatch.on_state("a", state(1, 2, {first.number}, first.number), t0 + 1s);
  d.dispatch.on_state("b", state(2, 1), t0 + 3900ms);
  d.dispatch.tick(t0 + 4s);
  CHECK(d.dispatch.counters().encoders_silent == 1);
  d.send(t0 + 4s);
  REQUIRE(d.sent.size() == 3);  // what it worked on has a strike, so record by record
  CHECK(d.sent[1].first == "b");
  d.dispatch.on_encoded("a", answer(first, 1), t0 + 5s);
  CHECK(d.dispatch.counters().answers_late == 1);
  CHECK(!d.dispatch.take());
  d.dispatch.on_encoded("b", answer(d.sent[1].second, 2), t0 + 5s);
  d.dispatch.on_encoded("b", answer(d.sent[2].second, 2), t0 + 5s);
  CHECK(d.dispatch.take()->records.size() == 2);
}

TEST_CASE("RecordDispatch: strikes of silence are taken back when the encoder speaks again") {
  Desk d;
  d.dispatch.submit(1, records(0, 1), t0);
  Instant t = t0;
  for (std::uint64_t round = 0; round < 5; ++round) {
    d.dispatch.on_state("a", state(1, 10 * round + 1), t);
    d.dispatch.tick(t);
    d.send(t);
    REQUIRE(d.sent.size() == round + 1);
    CHECK(d.sent[round].second.lease_ms == 10000);
    const std::uint64_t number = d.sent[round].second.number;
    d.dispatch.on_state("a", state(1, 10 * round + 2, {number}, number), t);
    t += 5s;
    d.dispatch.tick(t);
  }
  CHECK(!d.dispatch.take());
}

TEST_CASE("RecordDispatch: three encoders that fall silent over a record and stay so cost it") {
  Desk d;
  d.dispatch.submit(1, records(0, 1), t0);
  Instant t = t0;
  for (std::uint64_t round = 0; round < 3; ++round) {
    const std::string peer = fmt::format("e{}", round);
    d.dispatch.on_state(peer, state(1 + round, 1), t);
    d.send(t);
    const std::uint64_t number = d.sent.at(round).second.number;
    d.dispatch.on_state(peer, state(1 + round, 2, {number}, number), t);
    t += 5s;
    d.dispatch.tick(t);
  }
  const auto done = d.dispatch.take();
  REQUIRE(done);
  CHECK(done->records[0].reason == RecordLoss::kEncoderKilled);
  CHECK(done->records[0].text.find("no word from it any more (host, process 3)") !=
        std::string::npos);
}

TEST_CASE("RecordDispatch: an encoder of another kind gets nothing and is told why") {
  Desk d;
  d.dispatch.submit(1, records(0, 1), t0);
  EncoderState other = state(1, 1);
  other.encoder = "python m:f version=2";
  d.dispatch.on_state("a", other, t0);
  d.send(t0);
  CHECK(d.sent.empty());
  CHECK(d.dispatch.encoders(t0) == 0);
  const auto words = d.dispatch.words(false, t0);
  REQUIRE(words.size() == 1);
  CHECK(words[0].second.refused ==
        "this producer wants the encoder \"python m:f\", and this one is \"python m:f version=2\": "
        "give both the same job file");
  const auto waits = d.dispatch.waits(t0 + 2s);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].whom.find("was refused") != std::string::npos);
}

TEST_CASE("RecordDispatch: an answer that is none costs its encoder the trust, not the records") {
  Desk d;
  d.dispatch.submit(1, records(0, 2), t0);
  d.dispatch.on_state("a", state(1, 1), t0);
  d.send(t0);
  EncodedBatch bad = answer(d.sent[0].second, 1);
  SUBCASE("too few records") { bad.records.pop_back(); }
  SUBCASE("a loss that is none") { bad.records[0].lost = "tired"; }
  SUBCASE("frames that are no sample") { bad.records[1].samples = {{Buffer()}}; }
  d.dispatch.on_encoded("a", bad, t0);
  CHECK(d.dispatch.counters().refused == 1);
  d.send(t0);
  CHECK(d.sent.size() == 1);
  d.dispatch.on_state("b", state(2, 1), t0);
  d.send(t0);
  REQUIRE(d.sent.size() == 2);
  CHECK(d.sent[1].first == "b");
}

TEST_CASE("RecordDispatch: messages of another life of the producer change nothing") {
  Desk d;
  d.dispatch.submit(1, records(0, 1), t0);
  d.dispatch.on_state("a", state(1, 1), t0);
  d.send(t0);
  EncodedBatch old = answer(d.sent[0].second, 1);
  old.producer = kProducer + 1;
  d.dispatch.on_encoded("a", old, t0);
  Struck struck = d.struck(0, 1);
  struck.producer = kProducer + 1;
  d.dispatch.on_struck("a", struck, t0);
  EncoderState s = state(1, 2, {}, 99);
  s.producer = kProducer + 1;
  d.dispatch.on_state("a", s, t0);
  d.send(t0);
  CHECK(d.sent.size() == 1);
  CHECK(!d.dispatch.take());
}

TEST_CASE("RecordDispatch: waits name the record, and who works on it since when") {
  Desk d;
  CHECK(d.dispatch.waits(t0).empty());
  d.dispatch.submit(1, records(7, 3), t0);
  const auto nobody = d.dispatch.waits(t0 + 4s);
  REQUIRE(nobody.size() == 1);
  CHECK(nobody[0].what == "records to be encoded");
  CHECK(nobody[0].whom == "an encoder process: none is connected (start packline-encode)");
  CHECK(nobody[0].since_ms == 4000);
  d.dispatch.on_state("a", state(1, 1), t0 + 4s);
  d.send(t0 + 4s);
  EncoderState s = state(1, 2, {1}, 1);
  s.working_ms = 6000;
  d.dispatch.on_state("a", s, t0 + 10s);
  const auto waits = d.dispatch.waits(t0 + 11s);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].what == "record s0:7 and 2 more to be encoded");
  CHECK(waits[0].whom == "encoder host, process 1");
  CHECK(waits[0].since_ms == 7000);
}

TEST_CASE("RecordDispatch: a group that is dropped is neither sent nor given back") {
  Desk d;
  d.dispatch.submit(1, records(0, 1), t0);
  d.dispatch.submit(2, records(1, 1), t0);
  d.dispatch.on_state("a", state(1, 1), t0);
  d.send(t0);
  d.dispatch.on_encoded("a", answer(d.sent[0].second, 1), t0);
  d.dispatch.drop([](std::uint64_t) { return true; });
  CHECK(!d.dispatch.take());
  d.dispatch.on_encoded("a", answer(d.sent[1].second, 1), t0);
  CHECK(!d.dispatch.take());
}

TEST_CASE("encoded_of: ids are the producer's, with the record's own before and a count behind") {
  RecordOutcome o{"", "", "q7", {sample(1), sample(2)}};
  const auto two = encoded_of(o, "s0:4+1");
  REQUIRE(two);
  CHECK(two->samples.ids == std::vector<std::string>{"q7@s0:4+1/0", "q7@s0:4+1/1"});
  o.samples.pop_back();
  CHECK(encoded_of(o, "s0:4+1")->samples.ids == std::vector<std::string>{"q7@s0:4+1"});
  o.samples.clear();
  CHECK(encoded_of(o, "s0:4+1")->samples.size() == 0);
}

TEST_CASE("encoded_of: samples of a record that do not go together lose it, and say so") {
  Samples with;
  with.ids = {""};
  with.lengths = {1};
  with.columns = {
      {"input_ids",
       DType::kI32,
       ColumnKind::kPerToken,
       {},
       Buffer::of(std::vector<std::int32_t>{1}),
       {}},
      {"weight", DType::kF32, ColumnKind::kPerToken, {}, Buffer::of(std::vector<float>{1}), {}}};
  const auto e = encoded_of({"", "", "", {encode_samples(with), sample(2)}}, "s0:1");
  REQUIRE(e);
  CHECK(e->lost);
  CHECK(e->reason == RecordLoss::kEncode);
  CHECK(e->text.find("weight") != std::string::npos);
}

}  // namespace packline::test

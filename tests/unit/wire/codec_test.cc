#include "lib/wire/codec.h"

#include <doctest/doctest.h>

#include "tests/unit/wire/examples.h"

namespace packline {
namespace {

// Sends a message through bytes.
template <typename M>
M through(const M& m) {
  const Result<Message> back = decode(encode(m));
  REQUIRE_MESSAGE(back.has_value(), (back ? "" : back.error().text));
  REQUIRE(std::holds_alternative<M>(*back));
  const M& x = std::get<M>(*back);
  CHECK(x.envelope == m.envelope);
  return x;
}

void check_same(const Samples& a, const Samples& b) {
  CHECK(a.ids == b.ids);
  CHECK(a.lengths == b.lengths);
  REQUIRE(a.columns.size() == b.columns.size());
  for (std::size_t i = 0; i < a.columns.size(); ++i) {
    const Column &x = a.columns[i], &y = b.columns[i];
    CHECK(x.name == y.name);
    CHECK(x.dtype == y.dtype);
    CHECK(x.kind == y.kind);
    CHECK(x.item_shape == y.item_shape);
    CHECK(x.rows == y.rows);
    CHECK(examples::text_of(x.data) == examples::text_of(y.data));
  }
}

void check_same(const PackBody& a, const PackBody& b) {
  CHECK(a.digest == b.digest);
  CHECK(a.samples == b.samples);
  CHECK(a.tokens == b.tokens);
  CHECK(examples::texts_of(a.frames) == examples::texts_of(b.frames));
}

void check_same(const Progress& a, const Progress& b) {
  CHECK(a.from == b.from);
  CHECK(a.to == b.to);
  CHECK(a.total == b.total);
  CHECK(a.epochs == b.epochs);
}

TEST_CASE("Codec: a window comes back whole") {
  const Window m = examples::window(), x = through(m);
  CHECK(x.key == m.key);
  CHECK(x.before == m.before);
  CHECK(x.after == m.after);
  CHECK(x.last == m.last);
  CHECK(x.packs == m.packs);
  CHECK(x.to == m.to);
  CHECK(x.ledger == m.ledger);
  check_same(x.samples, m.samples);
}

TEST_CASE("Codec: a slice comes back whole, each part with its own frames") {
  const Slice m = examples::slice(), x = through(m);
  CHECK(x.key == m.key);
  CHECK(x.before == m.before);
  CHECK(x.after == m.after);
  CHECK(x.last == m.last);
  CHECK(x.packs == m.packs);
  CHECK(x.dp_rank == m.dp_rank);
  CHECK(x.ledger == m.ledger);
  REQUIRE(x.parts.size() == 2);
  check_same(x.parts[0], m.parts[0]);
  check_same(x.parts[1], m.parts[1]);
}

TEST_CASE("Codec: a report comes back whole, with and without a trainer heard") {
  Report m = examples::report();
  for (int round = 0; round < 2; ++round) {
    const Report x = through(m);
    CHECK(x.dp_rank == m.dp_rank);
    CHECK(x.session == m.session);
    CHECK(x.seq == m.seq);
    CHECK(x.endpoint == m.endpoint);
    CHECK((x.heard == m.heard));
    CHECK(x.live == m.live);
    CHECK((x.lanes == m.lanes));
    CHECK((x.held == m.held));
    CHECK(x.done == m.done);
    CHECK(x.bye == m.bye);
    m.heard.reset();
    m.lanes.clear();
    m.live = m.done = m.bye = false;
  }
}

TEST_CASE("Codec: a subscribe comes back whole, with and without what it wants") {
  Subscribe m = examples::subscribe();
  for (int round = 0; round < 2; ++round) {
    const Subscribe x = through(m);
    CHECK(x.dp_rank == m.dp_rank);
    CHECK(x.peer == m.peer);
    CHECK((x.session == m.session));
    CHECK(x.seq == m.seq);
    CHECK((x.want == m.want));
    CHECK(x.room == m.room);
    CHECK(x.done == m.done);
    check_same(x.progress, m.progress);
    m.want.reset();
    m.envelope.job = 0;
  }
}

TEST_CASE("Codec: a welcome comes back whole") {
  const Welcome m = examples::welcome(), x = through(m);
  CHECK((x.session == m.session));
  CHECK((x.identity == m.identity));
  CHECK(x.stream_version == m.stream_version);
  CHECK(x.ranks_per_dp_rank == m.ranks_per_dp_rank);
  CHECK(x.packs_per_optimizer_step == m.packs_per_optimizer_step);
  CHECK(x.capacity == m.capacity);
  CHECK(x.dp_size_multiple == m.dp_size_multiple);
  CHECK(x.sample_multiple_of == m.sample_multiple_of);
  CHECK(x.pad_to_multiple_of == m.pad_to_multiple_of);
  CHECK(x.pad_id == m.pad_id);
  CHECK(x.epochs == m.epochs);
  CHECK(x.packs_per_epoch == m.packs_per_epoch);
  CHECK(x.warn_after_ms == m.warn_after_ms);
  CHECK(x.fail_after_ms == m.fail_after_ms);
  CHECK(x.start == m.start);
}

TEST_CASE("Codec: a pack comes back whole, and its frames are samples") {
  const Pack m = examples::pack(), x = through(m);
  CHECK((x.session == m.session));
  CHECK(x.dp_rank == m.dp_rank);
  CHECK((x.from == m.from));
  CHECK((x.at == m.at));
  CHECK((x.after == m.after));
  CHECK(x.lanes == m.lanes);
  CHECK(x.passed == m.passed);
  check_same(x.body, m.body);
  const auto samples = decode_samples(x.body.frames);
  REQUIRE(samples.has_value());
  check_same(*samples, examples::samples());
}

TEST_CASE("Codec: an end, an error and a waiting come back whole") {
  const End e = examples::end(), e2 = through(e);
  CHECK((e2.session == e.session));
  CHECK((e2.from == e.from));
  CHECK(e2.cursor == e.cursor);
  CHECK(e2.passed == e.passed);
  CHECK(e2.released == e.released);
  const ErrorMessage r = examples::error(), r2 = through(r);
  CHECK((r2.session == r.session));
  CHECK(r2.reason == r.reason);
  CHECK(r2.text == r.text);
  const Waiting w = examples::waiting(), w2 = through(w);
  CHECK((w2.session == w.session));
  CHECK(w2.since_ms == w.since_ms);
  CHECK(w2.text == w.text);
}

TEST_CASE("Codec: a notice comes back whole") {
  const Notice m = examples::notice(), x = through(m);
  CHECK(x.producer == m.producer);
  CHECK(x.session == m.session);
  CHECK(x.finished == m.finished);
  CHECK(x.packers == m.packers);
  CHECK(x.unsent_ms == m.unsent_ms);
  CHECK(x.lanes == m.lanes);
  CHECK(x.sent == m.sent);
  CHECK((x.identity == m.identity));
  CHECK((x.slowest_rank == m.slowest_rank));
  CHECK(x.slowest_silent_ms == m.slowest_silent_ms);
  CHECK(x.encoding == m.encoding);
}

TEST_CASE("Codec: what encoders and producers say comes back whole") {
  const EncoderState e = examples::encoder_state(), e2 = through(e);
  CHECK(e2.session == e.session);
  CHECK(e2.seq == e.seq);
  CHECK(e2.name == e.name);
  CHECK(e2.encoder == e.encoder);
  CHECK(e2.room == e.room);
  CHECK(e2.producer == e.producer);
  CHECK(e2.taken == e.taken);
  CHECK(e2.held == e.held);
  CHECK(e2.working_ms == e.working_ms);
  const Struck s = examples::struck(), s2 = through(s);
  CHECK(s2.producer == s.producer);
  CHECK(s2.session == s.session);
  CHECK(s2.number == s.number);
  CHECK(s2.signal == s.signal);
  CHECK(s2.overdue == s.overdue);
  CHECK(s2.text == s.text);
  const ProducerWord w = examples::producer_word(), w2 = through(w);
  CHECK(w2.session == w.session);
  CHECK(w2.finished == w.finished);
  CHECK(w2.refused == w.refused);
}

TEST_CASE("Codec: records and what became of them come back whole, each with its own frames") {
  const RecordBatch b = examples::record_batch(), b2 = through(b);
  CHECK(b2.session == b.session);
  CHECK(b2.number == b.number);
  CHECK(b2.lease_ms == b.lease_ms);
  CHECK((b2.sources == b.sources));
  CHECK((b2.records == b.records));
  CHECK(examples::texts_of(b2.bytes) == examples::texts_of(b.bytes));
  const EncodedBatch e = examples::encoded_batch(), e2 = through(e);
  CHECK(e2.producer == e.producer);
  CHECK(e2.session == e.session);
  CHECK(e2.number == e.number);
  REQUIRE(e2.records.size() == e.records.size());
  for (std::size_t i = 0; i < e.records.size(); ++i) {
    CHECK(e2.records[i].lost == e.records[i].lost);
    CHECK(e2.records[i].text == e.records[i].text);
    CHECK(e2.records[i].id == e.records[i].id);
    REQUIRE(e2.records[i].samples.size() == e.records[i].samples.size());
    for (std::size_t k = 0; k < e.records[i].samples.size(); ++k)
      CHECK(examples::texts_of(e2.records[i].samples[k]) ==
            examples::texts_of(e.records[i].samples[k]));
  }
}

TEST_CASE("Codec: every reason of an error has its name on the wire") {
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(ErrorReason::kDataRefused); ++i) {
    ErrorMessage m = examples::error();
    m.reason = static_cast<ErrorReason>(i);
    CHECK(through(m).reason == m.reason);
  }
}

TEST_CASE("Codec: a header is written the same way every time") {
  for (const Message& m : examples::all()) {
    const Frames frames = encode(m);
    const auto back = decode(frames);
    REQUIRE(back.has_value());
    CHECK(type_of(*back) == type_of(m));
    CHECK(examples::texts_of(encode(*back)) == examples::texts_of(frames));
  }
}

TEST_CASE("Codec: payload frames are shared with the message, not copied") {
  const Frames frames = encode(examples::window());
  const auto back = decode(frames);
  REQUIRE(back.has_value());
  const Column* ids = std::get<Window>(*back).samples.find("input_ids");
  REQUIRE(ids != nullptr);
  bool shared = false;
  for (const Buffer& frame : frames) shared = shared || frame.data() == ids->data.data();
  CHECK(shared);
}

TEST_CASE("Codec: samples of none and of many dimensions come back") {
  Samples none;
  none.columns.push_back({"input_ids", DType::kI32, ColumnKind::kPerToken, {}, Buffer(), {}});
  auto back = decode_samples(encode_samples(none));
  REQUIRE_MESSAGE(back.has_value(), (back ? "" : back.error().text));
  CHECK(back->size() == 0);

  Samples s = examples::samples();
  s.columns.push_back({"pixel_values",
                       DType::kF32,
                       ColumnKind::kRagged,
                       {2, 3},
                       Buffer::of(std::vector<float>(18, 0.5F)),
                       {0, 3}});
  back = decode_samples(encode_samples(s));
  REQUIRE_MESSAGE(back.has_value(), (back ? "" : back.error().text));
  check_same(*back, s);
}

TEST_CASE("Codec: another kind than the one that belongs there is named") {
  const Frames frames = encode(examples::report());
  CHECK(examples::texts_of(frames) == examples::texts_of(encode(Message(examples::report()))));
  REQUIRE(decode_as<Report>(frames).has_value());
  const auto notice = decode_as<Notice>(frames);
  REQUIRE_FALSE(notice.has_value());
  CHECK(notice.error().text == "a report came where a notice was expected");
  CHECK_FALSE(decode_as<Report>({}).has_value());
}

}  // namespace
}  // namespace packline

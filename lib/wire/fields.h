#pragma once

#include <concepts>
#include <type_traits>

#include "lib/wire/messages.h"

// Which keys each struct has on the wire, in the order in which they are written (docs/wire.md).
// One list serves the writer and the reader: io(key, value) writes the value or fills it.

namespace packline::wire {

// What a value is held against when it is read.
enum class Bound : std::uint8_t { kPlain, kPosition, kHeld, kParts };

template <typename T, typename U>
concept Like = std::same_as<std::remove_const_t<T>, U>;

template <typename Io, Like<WindowKey> T>
void fields(Io& io, T& v) {
  io("lane", v.lane);
  io("epoch", v.epoch);
  io("index", v.index);
}

template <typename Io, Like<Place> T>
void fields(Io& io, T& v) {
  io("epoch", v.epoch);
  io("index", v.index);
  io("position", v.position, Bound::kPosition);
}

template <typename Io, Like<StreamPoint> T>
void fields(Io& io, T& v) {
  io("epoch", v.epoch);
  io("window", v.window);
  io("pack", v.pack);
}

template <typename Io, Like<Cursor> T>
void fields(Io& io, T& v) {
  io("point", v.point);
  io("lanes", v.lanes);
}

template <typename Io, Like<Ledger> T>
void fields(Io& io, T& v) {
  each_field([&io](const char* name, auto& field) { io(name, field); }, v);
}

template <typename Io, Like<Tally> T>
void fields(Io& io, T& v) {
  io("packs", v.packs);
  io("samples", v.samples);
  io("tokens", v.tokens);
  io("digest", v.digest);
  io("ledger", v.ledger);
}

template <typename Io, Like<EpochTally> T>
void fields(Io& io, T& v) {
  io("epoch", v.epoch);
  io("tally", v.tally);
}

template <typename Io, Like<Destination> T>
void fields(Io& io, T& v) {
  io("dp_rank", v.dp_rank);
  io("endpoint", v.endpoint);
}

template <typename Io, Like<TrainerSession> T>
void fields(Io& io, T& v) {
  io("restart", v.restart);
  io("start_ms", v.start_ms);
  io("random", v.random);
}

template <typename Io, Like<Heard> T>
void fields(Io& io, T& v) {
  io("session", v.session);
  io("seq", v.seq);
}

template <typename Io, Like<Progress> T>
void fields(Io& io, T& v) {
  io("from", v.from);
  io("to", v.to);
  io("total", v.total);
  io("epochs", v.epochs);
}

// `frames` is the number of the pack's frames; the frames themselves follow frame 0.
template <typename Io, Like<PackBody> T>
void fields(Io& io, T& v) {
  io("digest", v.digest);
  io("samples", v.samples);
  io("tokens", v.tokens);
  io("frames", v.frames);
}

template <typename Io, Like<SentWindow> T>
void fields(Io& io, T& v) {
  io("key", v.key);
  io("dp_rank", v.dp_rank);
  io("age_ms", v.age_ms);
  io("tries", v.tries);
  io("lease_left_ms", v.lease_left_ms);
}

template <typename Io, Like<RefusedPlace> T>
void fields(Io& io, T& v) {
  io("position_hash", v.position_hash);
  io("text", v.text);
  io("gone", v.gone);
}

template <typename Io, Like<LaneNotice> T>
void fields(Io& io, T& v) {
  io("lane", v.lane);
  io("has_head", v.has_head);
  io("epoch", v.epoch);
  io("index", v.index);
  io("held", v.held);
  io("reading", v.reading);
  io("reading_ms", v.reading_ms);
  io("waits_for", v.waits_for);
  io("refused", v.refused);
}

// The messages; v, type, job and dp_size come before these.

template <typename Io, Like<Window> T>
void fields(Io& io, T& v) {
  io("key", v.key);
  io("before", v.before, Bound::kPosition);
  io("after", v.after, Bound::kPosition);
  io("last", v.last);
  io("packs", v.packs, Bound::kParts);
  io("to", v.to);
  io("ledger", v.ledger);
}

template <typename Io, Like<Slice> T>
void fields(Io& io, T& v) {
  io("key", v.key);
  io("before", v.before, Bound::kPosition);
  io("after", v.after, Bound::kPosition);
  io("last", v.last);
  io("packs", v.packs);
  io("dp_rank", v.dp_rank);
  io("ledger", v.ledger);
  io("parts", v.parts, Bound::kParts);
}

template <typename Io, Like<Report> T>
void fields(Io& io, T& v) {
  io("dp_rank", v.dp_rank);
  io("session", v.session);
  io("seq", v.seq);
  io("endpoint", v.endpoint);
  io("heard", v.heard);
  io("live", v.live);
  io("lanes", v.lanes);
  io("held", v.held, Bound::kHeld);
  io("done", v.done);
  io("bye", v.bye);
}

template <typename Io, Like<Subscribe> T>
void fields(Io& io, T& v) {
  io("dp_rank", v.dp_rank);
  io("peer", v.peer);
  io("session", v.session);
  io("seq", v.seq);
  io("want", v.want);
  io("room", v.room);
  io("done", v.done);
  io("progress", v.progress);
}

template <typename Io, Like<Welcome> T>
void fields(Io& io, T& v) {
  io("session", v.session);
  io("identity", v.identity);
  io("stream_version", v.stream_version);
  io("ranks_per_dp_rank", v.ranks_per_dp_rank);
  io("packs_per_optimizer_step", v.packs_per_optimizer_step);
  io("capacity", v.capacity);
  io("dp_size_multiple", v.dp_size_multiple);
  io("sample_multiple_of", v.sample_multiple_of);
  io("pad_to_multiple_of", v.pad_to_multiple_of);
  io("pad_id", v.pad_id);
  io("epochs", v.epochs);
  io("packs_per_epoch", v.packs_per_epoch);
  io("warn_after_ms", v.warn_after_ms);
  io("fail_after_ms", v.fail_after_ms);
  io("start", v.start);
}

template <typename Io, Like<Pack> T>
void fields(Io& io, T& v) {
  io("session", v.session);
  io("dp_rank", v.dp_rank);
  io("from", v.from);
  io("at", v.at);
  io("after", v.after);
  io("lanes", v.lanes);
  io("passed", v.passed);
  io("body", v.body);
}

template <typename Io, Like<End> T>
void fields(Io& io, T& v) {
  io("session", v.session);
  io("from", v.from);
  io("cursor", v.cursor);
  io("passed", v.passed);
  io("released", v.released);
}

template <typename Io, Like<ErrorMessage> T>
void fields(Io& io, T& v) {
  io("session", v.session);
  io("reason", v.reason);
  io("text", v.text);
}

template <typename Io, Like<Waiting> T>
void fields(Io& io, T& v) {
  io("session", v.session);
  io("since_ms", v.since_ms);
  io("text", v.text);
}

template <typename Io, Like<Notice> T>
void fields(Io& io, T& v) {
  io("producer", v.producer);
  io("session", v.session);
  io("finished", v.finished);
  io("packers", v.packers);
  io("unsent_ms", v.unsent_ms);
  io("lanes", v.lanes);
  io("sent", v.sent);
  io("identity", v.identity);
  io("slowest_rank", v.slowest_rank);
  io("slowest_silent_ms", v.slowest_silent_ms);
  io("encoding", v.encoding);
}

template <typename Io, Like<EncoderState> T>
void fields(Io& io, T& v) {
  io("session", v.session);
  io("seq", v.seq);
  io("name", v.name);
  io("encoder", v.encoder);
  io("room", v.room);
  io("producer", v.producer);
  io("taken", v.taken);
  io("held", v.held);
  io("working_ms", v.working_ms);
}

template <typename Io, Like<RecordSource> T>
void fields(Io& io, T& v) {
  io("format", v.format);
  io("fields", v.fields);
}

template <typename Io, Like<RecordHeader> T>
void fields(Io& io, T& v) {
  io("id", v.id);
  io("seed", v.seed);
  io("source", v.source);
  io("form", v.form);
}

template <typename Io, Like<RecordBatch> T>
void fields(Io& io, T& v) {
  io("session", v.session);
  io("number", v.number);
  io("lease_ms", v.lease_ms);
  io("sources", v.sources);
  io("records", v.records);
  io("frames", v.bytes);
}

// `samples` are the numbers of frames of each sample; the frames themselves follow frame 0.
template <typename Io, Like<RecordOutcome> T>
void fields(Io& io, T& v) {
  io("lost", v.lost);
  io("text", v.text);
  io("id", v.id);
  io("samples", v.samples, Bound::kParts);
}

template <typename Io, Like<EncodedBatch> T>
void fields(Io& io, T& v) {
  io("producer", v.producer);
  io("session", v.session);
  io("number", v.number);
  io("records", v.records);
}

template <typename Io, Like<Struck> T>
void fields(Io& io, T& v) {
  io("producer", v.producer);
  io("session", v.session);
  io("number", v.number);
  io("signal", v.signal);
  io("overdue", v.overdue);
  io("text", v.text);
}

template <typename Io, Like<ProducerWord> T>
void fields(Io& io, T& v) {
  io("session", v.session);
  io("finished", v.finished);
  io("refused", v.refused);
}

// A column in the header of samples; its data and rows are frames.
struct ColumnHeader {
  std::string name, dtype, kind;
  std::vector<std::uint32_t> item_shape;
};

template <typename Io, Like<ColumnHeader> T>
void fields(Io& io, T& v) {
  io("name", v.name);
  io("dtype", v.dtype);
  io("kind", v.kind);
  io("item_shape", v.item_shape);
}

struct SamplesHeader {
  std::uint32_t n = 0;
  std::vector<ColumnHeader> columns;
};

template <typename Io, Like<SamplesHeader> T>
void fields(Io& io, T& v) {
  io("n", v.n);
  io("columns", v.columns);
}

}  // namespace packline::wire

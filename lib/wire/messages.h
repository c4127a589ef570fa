#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/buffer.h"
#include "lib/delivery/identity.h"
#include "lib/delivery/ledger.h"
#include "lib/delivery/place.h"
#include "lib/delivery/progress.h"
#include "lib/sample/samples.h"

// Every message of the line as a plain struct; docs/wire.md is their grammar in bytes. Each states
// its whole state and replaces the one before. All carry the job's fingerprint and dp_size; a
// receiver refuses another job or dp_size (packers take any dp_size).

namespace packline {

using Frames = std::vector<Buffer>;

struct Envelope {
  std::uint64_t job = 0;  // fingerprint; 0 only in a Subscribe that asks which job this is
  std::uint32_t dp_size = 0;
  bool operator==(const Envelope&) const = default;
};

struct Destination {
  std::uint32_t dp_rank = 0;
  std::string endpoint;
  bool operator==(const Destination&) const = default;
};

// producer -> any packer (PUSH/PULL).
struct Window {
  Envelope envelope;
  WindowKey key;
  std::string before, after;         // positions
  bool last = false;                 // of its lane in this epoch
  std::vector<std::uint32_t> packs;  // how many samples each has; over all ranks, in order
  std::vector<Destination> to;
  Ledger ledger;
  Samples samples;  // pack by pack
};

// One pack ready to be handed on: `frames` are encoded Samples (wire/codec.h), which nobody between
// packer and trainer opens.
struct PackBody {
  std::uint64_t digest = 0;
  std::uint32_t samples = 0;
  std::uint32_t tokens = 0;
  std::vector<Buffer> frames;
};

// packer -> each sink of Window::to. packs k, with k % dp_size == dp_rank, ascending.
struct Slice {
  Envelope envelope;
  WindowKey key;
  std::string before, after;
  bool last = false;
  std::uint32_t packs = 0;
  std::uint32_t dp_rank = 0;
  Ledger ledger;
  std::vector<PackBody> parts;
};

// One life of a trainer rank; ordered: a later life has the higher value.
struct TrainerSession {
  std::uint64_t restart = 0;   // of the trainer's launcher, 0 without one
  std::uint64_t start_ms = 0;  // wall clock, milliseconds
  std::uint64_t random = 0;
  auto operator<=>(const TrainerSession&) const = default;
};

struct Heard {
  TrainerSession session;
  std::uint64_t seq = 0;
  auto operator<=>(const Heard&) const = default;
};

// sink -> each producer (one PUSH socket a producer), every 200 ms and on change.
struct Report {
  Envelope envelope;
  std::uint32_t dp_rank = 0;
  std::uint64_t session = 0;  // of the sink; an identity, not ordered
  std::uint64_t seq = 0;
  std::string endpoint;        // where its slices go
  std::optional<Heard> heard;  // the highest of its trainer's sessions
  bool live = false;           // a trainer was heard within "silent"
  // What it wants next in that producer's lanes.
  std::vector<std::pair<std::uint32_t, Place>> lanes;
  std::vector<WindowKey> held;
  bool done = false;
  bool bye = false;
};

// trainer rank -> its sink (DEALER/ROUTER), every 200 ms and whenever want or room changed.
struct Subscribe {
  Envelope envelope;
  std::uint32_t dp_rank = 0;
  std::uint32_t peer = 0;  // 0..ranks_per_dp_rank-1: which of the ranks that share this sink
  TrainerSession session;
  std::uint64_t seq = 0;
  // The next not received; none = "which job is this": answered by Welcome.
  std::optional<Cursor> want;
  std::uint32_t room = 0;  // packs it can still take
  bool done = false;
  Progress progress;
};

// sink -> trainer rank. The answer to a Subscribe without `want`.
struct Welcome {
  Envelope envelope;
  TrainerSession session;  // whom it answers
  // Every setting that determines the stream.
  Identity identity;
  std::uint32_t stream_version = 0;
  std::uint32_t ranks_per_dp_rank = 1;
  std::uint32_t packs_per_optimizer_step = 1;
  std::uint32_t capacity = 0;
  std::uint32_t dp_size_multiple = 1;
  // How layouts pad: each sample, then the pack's end (tokens); and with which token id.
  std::uint32_t sample_multiple_of = 1, pad_to_multiple_of = 1, pad_id = 0;
  std::uint64_t epochs = 1;
  std::uint64_t packs_per_epoch = 0;  // over all ranks; 0 = not known before they are made
  std::uint64_t warn_after_ms = 0, fail_after_ms = 0;
  Cursor start;
};

// sink -> trainer rank. Accepted only when `from` is what the trainer wants next.
struct Pack {
  Envelope envelope;
  TrainerSession session;
  std::uint32_t dp_rank = 0;
  StreamPoint from;  // after the pack before it
  StreamPoint at;    // the pack itself: its epoch, window and place in the window
  StreamPoint after;
  std::optional<std::vector<Place>> lanes;  // of the cursor at `after`; none = as at `from`
  std::vector<EpochTally> passed;  // ledgers of the windows finished in (from, after], by epoch
  PackBody body;
};

// sink -> trainer rank. Only windows without packs lie between `from` and `cursor`.
struct End {
  Envelope envelope;
  TrainerSession session;
  StreamPoint from;
  Cursor cursor;  // the next window with packs, or the job's end
  std::vector<EpochTally> passed;
  bool released = false;  // the answer to done
};

enum class ErrorReason : std::uint8_t {
  kFenced,
  kOtherJob,
  kOtherDpSize,
  kNotDivisible,
  kWrongRank,
  kLineFailed,
  kDataRefused
};
// fenced, other_job, other_dp_size, not_divisible, wrong_rank, line_failed, data_refused
std::string_view name_of(ErrorReason r);

// sink -> trainer rank.
struct ErrorMessage {
  Envelope envelope;
  TrainerSession session;
  ErrorReason reason = ErrorReason::kFenced;
  std::string text;  // the sentence to show
};

// sink -> trainer rank, when it has nothing to send: what it waits for (law L7).
struct Waiting {
  Envelope envelope;
  TrainerSession session;
  std::uint64_t since_ms = 0;  // how long already
  std::string text;  // "sink 3 misses window 37 (lane 1); producer 0 sent it 12 s ago ..."
};

// A window on its way, as a producer tells it.
struct SentWindow {
  WindowKey key;
  std::uint32_t dp_rank = 0;
  std::uint64_t age_ms = 0;  // since it was sent last
  std::uint32_t tries = 0;
  std::uint64_t lease_left_ms = 0;
  bool operator==(const SentWindow&) const = default;
};

// Why a producer cannot make the window at the head of a lane: the place was given by a cursor that
// is none of this job's, or the source cannot go back to it. A rank that wants exactly that place
// is to be told.
struct RefusedPlace {
  std::uint64_t position_hash = 0;  // XXH3 of the position, which may be long
  std::string text;                 // the sentence; cut, and "" beyond the first 64 lanes
  bool gone = false;                // the job's, but its records cannot be read again
  bool operator==(const RefusedPlace&) const = default;
};

// The state of one lane of a producer.
struct LaneNotice {
  std::uint32_t lane = 0;
  bool has_head = false;
  std::uint64_t epoch = 0, index = 0;  // of the head: the next window to read
  std::uint32_t held = 0;              // windows
  bool reading = false;
  std::uint64_t reading_ms = 0;                        // since when
  std::string waits_for = {};                          // what the reading waits for, or ""
  std::optional<RefusedPlace> refused = std::nullopt;  // the head cannot be read
  bool operator==(const LaneNotice&) const = default;
};

// producer -> all packers and sinks (PUB/SUB), every 200 ms.
struct Notice {
  Envelope envelope;
  std::uint32_t producer = 0;
  std::uint64_t session = 0;
  bool finished = false;
  std::uint32_t packers = 0;  // connected now
  // For how long no packer has taken a window that is ready; 0 = none waits.
  std::uint64_t unsent_ms = 0;
  std::vector<LaneNotice> lanes;
  std::vector<SentWindow> sent;  // the oldest 64
  // Every setting that determines the stream (lib/config), so that packers and sinks, which may not
  // see the data, know the job and can name the first setting in which their own job file differs.
  Identity identity;
  // The dp_rank with the lowest place, when that place alone keeps a lane from being read on (all
  // credit is held from it on); and for how long that rank's sink has not reported.
  std::optional<std::uint32_t> slowest_rank;
  std::uint64_t slowest_silent_ms = 0;
  // What making windows waits for longest, where encoder processes encode: "record s0:12 of a.jsonl
  // to be encoded from encoder host, process 7, since 3 s"; "" for nothing.
  std::string encoding;
};

// The messages between producers and encoder processes (docs/encoders.md). Their envelope is 0: an
// encoder works for a job before its fingerprint is known, and for whoever wants the same encoder.

// encoder -> each producer (DEALER/ROUTER), every 200 ms and on change.
struct EncoderState {
  Envelope envelope;
  std::uint64_t session = 0;  // one life of the encoder; an identity, not ordered
  std::uint64_t seq = 0;
  std::string name;                 // "host, process 4711": for sentences
  std::string encoder;              // what it makes of records; must be what the producer wants
  std::uint32_t room = 0;           // record batches of this producer that it holds at most
  std::uint64_t producer = 0;       // session of the producer that it heard last; 0 = none yet
  std::uint64_t taken = 0;          // the highest batch of that session that arrived
  std::vector<std::uint64_t> held;  // batches of that session, the one it works on first
  std::uint64_t working_ms = 0;     // for how long it has worked on the first; 0 = on none of them
};

// The keys by which a source's records are understood.
struct RecordSource {
  std::string format;                                       // text, chat, tokens, any
  std::vector<std::pair<std::string, std::string>> fields;  // "text" is called "body" here
  bool operator==(const RecordSource&) const = default;
};

struct RecordHeader {
  std::string id;            // "s0:4711+1"
  std::uint64_t seed = 0;    // of this record
  std::uint32_t source = 0;  // which of RecordBatch::sources
  std::string form;          // what its bytes are: json, text, u8, i8, i16, u16, i32, i64
  bool operator==(const RecordHeader&) const = default;
};

// producer -> one encoder: encode these.
struct RecordBatch {
  Envelope envelope;
  std::uint64_t session = 0;   // of the producer
  std::uint64_t number = 0;    // ascends within a session
  std::uint64_t lease_ms = 0;  // how long an encoder may work on it
  std::vector<RecordSource> sources;
  std::vector<RecordHeader> records;
  Frames bytes;  // one frame a record
};

// What became of one record of a batch.
struct RecordOutcome {
  std::string lost;             // "", or why there are no samples: parse, encode
  std::string text;             // the cause, when lost
  std::string id;               // the record's own; "" for none
  std::vector<Frames> samples;  // each the frames of one sample (wire/codec.h)
};

// encoder -> producer: the answer to a RecordBatch.
struct EncodedBatch {
  Envelope envelope;
  std::uint64_t producer = 0;  // session
  std::uint64_t session = 0;   // of the encoder
  std::uint64_t number = 0;
  std::vector<RecordOutcome> records;
};

// encoder -> producer: the process that worked on the batch ended; nothing of it was encoded.
struct Struck {
  Envelope envelope;
  std::uint64_t producer = 0, session = 0, number = 0;
  std::uint32_t signal = 0;  // that ended it; 0 when it exited
  bool overdue = false;      // it was ended because the lease was over
  std::string text;          // "signal 11 (Segmentation fault)"
};

// producer -> each encoder it has heard, every 200 ms.
struct ProducerWord {
  Envelope envelope;
  std::uint64_t session = 0;
  bool finished = false;  // there is nothing more to encode, ever
  std::string refused;    // why this encoder gets nothing; "" = it may
};

using Message =
    std::variant<Window, Slice, Report, Subscribe, Welcome, Pack, End, ErrorMessage, Waiting,
                 Notice, EncoderState, RecordBatch, EncodedBatch, Struck, ProducerWord>;

}  // namespace packline

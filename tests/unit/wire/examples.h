#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "lib/wire/codec.h"

// One message of each kind with every field set to a value of its own.

namespace packline::examples {

template <typename T>
Buffer bytes_of(std::vector<T> v) {
  return Buffer::of(std::move(v));
}

inline Samples samples() {
  Samples s;
  s.ids = {"s0:7", "q1@s0:2"};
  s.lengths = {3, 2};
  s.columns.push_back(
      {"channel", DType::kU8, ColumnKind::kOpaque, {}, bytes_of<char>({'x', 'y', 'z'}), {3, 0}});
  s.columns.push_back({"input_ids",
                       DType::kI32,
                       ColumnKind::kPerToken,
                       {},
                       bytes_of<std::int32_t>({5, 6, 7, 8, 9}),
                       {}});
  s.columns.push_back({"labels",
                       DType::kI32,
                       ColumnKind::kSpans,
                       {},
                       bytes_of<std::uint32_t>({1, 3, 1, 2}),
                       {1, 1}});
  return s;
}

inline Ledger ledger(std::uint64_t from) {
  Ledger l;
  l.records_read = from + 1;
  l.records_encoded = from + 2;
  l.records_lost = {from + 3, from + 4, from + 5};
  l.samples_made = from + 6;
  l.tokens_made = from + 7;
  l.samples_lost = {from + 8, from + 9, from + 10, from + 11};
  l.tokens_lost = {from + 12, from + 13, from + 14, from + 15};
  l.tokens_truncated = from + 16;
  l.samples_repeated = from + 17;
  l.tokens_repeated = from + 18;
  return l;
}

inline Tally tally(std::uint64_t from) {
  return {from, from + 1, from + 2, 0xFFFFFFFFFFFFFFF0 + from % 16, ledger(from + 100)};
}

constexpr Envelope kEnvelope{0x0123456789ABCDEF, 2};
constexpr TrainerSession kSession{1, 1700000000000, 42};

inline Cursor cursor() { return {{0, 2, 0}, {{0, 1, "12.0.0"}, {0, 1, "9.0.0"}}}; }

inline Window window() {
  return {kEnvelope,
          {3, 1, 9},
          "7.0.0",
          "12.0.0,3.1.1",
          true,
          {1, 0, 1, 0},
          {{0, "ipc:///run/s0.0"}, {1, "tcp://h:5600"}},
          ledger(0),
          samples()};
}

inline PackBody body() { return {0x716F905285A26BAC, 2, 5, encode_samples(samples())}; }

inline Slice slice() {
  PackBody other;
  other.digest = UINT64_MAX;
  other.samples = 7;
  other.tokens = 70;
  other.frames = {bytes_of<char>({'a'}), Buffer(), bytes_of<char>({'b', 'c'})};
  return {kEnvelope, {3, 1, 9}, "7.0.0", "12.0.0", true, 4, 1, ledger(50), {body(), other}};
}

inline Report report() {
  return {kEnvelope,
          1,
          0xDEADBEEF00112233,
          77,
          "tcp://gpu-1:5600",
          Heard{kSession, 12},
          true,
          {{0, {2, 5, "4.0.0"}}, {1, {2, 6, ""}}},
          {{0, 2, 5}, {1, 2, 7}},
          true,
          true};
}

inline Subscribe subscribe() {
  Subscribe s;
  s.envelope = kEnvelope;
  s.dp_rank = 1;
  s.peer = 3;
  s.session = kSession;
  s.seq = 99;
  s.want = cursor();
  s.room = 8;
  s.done = true;
  s.progress = {{0, 0, 2}, {1, 2, 3}, tally(1000), {{0, tally(2000)}, {1, tally(3000)}}};
  return s;
}

inline Welcome welcome() {
  return {kEnvelope, kSession, {{"seed", "17"}, {"lanes", "4"}},
          1,         2,        3,
          8192,      4,        16,
          512,       151643,   5,
          7000,      30000,    600000,
          cursor()};
}

inline Pack pack() {
  return {kEnvelope, kSession, 0, {0, 1, 2}, {0, 1, 2}, cursor().point, cursor().lanes, {}, body()};
}

inline End end() { return {kEnvelope, kSession, {0, 8, 6}, cursor(), {{0, tally(5)}}, true}; }

inline ErrorMessage error() {
  return {kEnvelope, kSession, ErrorReason::kNotDivisible, "pack 3 is no multiple of 2"};
}

inline Waiting waiting() { return {kEnvelope, kSession, 12345, "sink 3 misses window 37"}; }

inline Notice notice() {
  Notice n;
  n.envelope = kEnvelope;
  n.producer = 1;
  n.session = 0xAABB;
  n.finished = true;
  n.packers = 2;
  n.unsent_ms = 300;
  n.lanes = {{5, true, 1, 2, 3, true, 400, "the pipe P"},
             {7, false, 4, 5, 6, false, 700, "", RefusedPlace{0xFEED, "no position", true}}};
  n.sent = {{{5, 1, 2}, 3, 1200, 4, 3000}};
  n.identity = {{"seed", "17"}, {"pack.capacity", "8192"}};
  n.slowest_rank = 6;
  n.slowest_silent_ms = 900;
  n.encoding = "records to be encoded from an encoder process since 3 s";
  return n;
}

inline EncoderState encoder_state() {
  return {{}, 0xABCD,   7,  "host, process 4711", "python m:f version=2", 2, 0xFEED,
          12, {11, 12}, 340};
}

inline RecordBatch record_batch() {
  return {{},
          0xFEED,
          12,
          60000,
          {{"text", {{"text", "body"}, {"id", "key"}}}},
          {{"s0:7", 0xFFFFFFFFFFFFFFF1, 0, "json"}, {"s0:9+1", 5, 0, "text"}},
          {bytes_of<char>({'{', '}'}), bytes_of<char>({'a'})}};
}

inline EncodedBatch encoded_batch() {
  return {{},
          0xFEED,
          0xABCD,
          12,
          {{"", "", "q1", {encode_samples(samples()), encode_samples(samples())}},
           {"encode", "my.py:3: ValueError: no", "", {}},
           {"", "", "", {}}}};
}

inline Struck struck() {
  return {{}, 0xFEED, 0xABCD, 12, 11, true, "signal 11 (Segmentation fault)"};
}

inline ProducerWord producer_word() { return {{}, 0xFEED, true, "another encoder"}; }

inline std::vector<Message> all() {
  return {window(),        slice(),        report(),        subscribe(), welcome(),
          pack(),          end(),          error(),         waiting(),   notice(),
          encoder_state(), record_batch(), encoded_batch(), struck(),    producer_word()};
}

inline std::string text_of(const Buffer& b) {
  return b.empty() ? "" : std::string(reinterpret_cast<const char*>(b.data()), b.size());
}

inline std::vector<std::string> texts_of(const Frames& frames) {
  std::vector<std::string> out;
  for (const Buffer& b : frames) out.push_back(text_of(b));
  return out;
}

inline Buffer buffer_of(const std::string& s) {
  return Buffer::of(std::vector<char>(s.begin(), s.end()));
}

}  // namespace packline::examples

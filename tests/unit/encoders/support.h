#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/encoders/record_dispatch.h"
#include "lib/hash/xxh3.h"
#include "lib/wire/codec.h"

// What the tests of this folder share: records, and the answers that an encoder gives.

namespace packline::test {

using namespace std::chrono_literals;

constexpr std::uint64_t kProducer = 77;

inline DispatchSettings settings() {
  DispatchSettings s;
  s.session = kProducer;
  s.encoder = "python m:f";
  s.lease = 10s;
  return s;
}

inline std::vector<DispatchRecord> records(std::uint64_t first, std::size_t n) {
  std::vector<DispatchRecord> out;
  for (std::size_t i = 0; i < n; ++i) {
    DispatchRecord r;
    r.header.id = fmt::format("s0:{}", first + i);
    r.header.seed = first + i;
    r.header.form = "json";
    r.source = {"any", {{"id", "id"}}};
    r.where = r.header.id;
    out.push_back(std::move(r));
  }
  return out;
}

inline Frames sample(std::int32_t token) {
  Samples s;
  s.ids = {""};
  s.lengths = {1};
  s.columns.push_back({"input_ids",
                       DType::kI32,
                       ColumnKind::kPerToken,
                       {},
                       Buffer::of(std::vector<std::int32_t>{token}),
                       {}});
  return encode_samples(s);
}

// One sample whose token is the record's seed.
inline RecordOutcome outcome(const RecordHeader& r) {
  return {"", "", "", {sample(static_cast<std::int32_t>(r.seed))}};
}

inline EncodedBatch answer(const RecordBatch& b, std::uint64_t encoder) {
  EncodedBatch e;
  e.producer = b.session;
  e.session = encoder;
  e.number = b.number;
  for (const RecordHeader& r : b.records) e.records.push_back(outcome(r));
  return e;
}

inline EncoderState state(std::uint64_t session, std::uint64_t seq,
                          std::vector<std::uint64_t> held = {}, std::uint64_t taken = 0) {
  EncoderState s;
  s.session = session;
  s.seq = seq;
  s.name = fmt::format("host, process {}", session);
  s.encoder = "python m:f";
  s.room = 2;
  s.producer = kProducer;
  s.taken = taken;
  s.working_ms = held.empty() ? 0 : 5;
  s.held = std::move(held);
  return s;
}

inline std::int32_t token_of(const Encoded& e) {
  return e.samples.find("input_ids")->data.at<std::int32_t>(0);
}

}  // namespace packline::test

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/job.h"
#include "lib/delivery/ledger.h"
#include "lib/encode/encoder.h"
#include "lib/windows/window_maker.h"

namespace packline {

// Where a record stands: in its lane's order, and for sentences.
struct RecordPlace {
  std::uint64_t number = 0;  // in the lane's order
  std::string where;         // "file:line"
  std::string id;            // "s0:4711+1"
};

// A record as a lane keeps it: what the encoder gave, and what the job's policies made of it.
struct JudgedRecord {
  std::uint64_t number = 0;  // in the lane's order
  Samples samples;           // as encoded; over-long ones cut, or split, where the job says so
  std::vector<std::uint32_t> packable;  // which samples go on to be packed, ascending
  Ledger ledger;                        // of this record and all its samples
  std::vector<Loss> losses;             // the same, one by one; `window` is filled in at closing
};

// What of a job decides what becomes of a record.
struct RecordPolicy {
  RecordPolicy() = default;
  explicit RecordPolicy(const Job& job);

  std::uint32_t capacity = 0;  // tokens; UINT32_MAX where samples of any length are packed
  OverLong over_long = OverLong::kDrop;
  bool drop_unsupervised = false;
  BadRecord on_bad_record = BadRecord::kQuarantine;
};

// Whether judge() will speak of this record, so that its place needs its words; those of the many
// others need not be made.
bool worth_a_word(const RecordPolicy& policy, const Encoded& encoded);

// docs/stream.md section 4: what becomes of a record and its samples. kDataRefused, with file:line,
// for a lost record under on_bad_record: stop and an over-long sample under over_long: error.
Result<JudgedRecord> judge(const RecordPolicy& policy, const RecordPlace& place, Encoded encoded);

}  // namespace packline

#include "lib/windows/record_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace packline {
namespace {

std::vector<std::byte> cut_items(const Column& column, const std::vector<std::uint32_t>& lengths,
                                 std::uint32_t capacity) {
  const std::size_t item = column.item_bytes();
  std::vector<std::byte> out;
  out.reserve(column.data.size());
  const std::byte* from = column.data.data();
  for (const std::uint32_t length : lengths) {
    out.insert(out.end(), from, from + item * std::min(length, capacity));
    from += item * length;
  }
  return out;
}

// Spans that begin behind the cut vanish, one that crosses it ends there.
Column cut_spans(const Column& column, std::uint32_t capacity) {
  Column out = column;
  std::vector<std::uint32_t> bounds;
  std::size_t at = 0;
  for (std::size_t s = 0; s < column.rows.size(); ++s) {
    std::uint32_t kept = 0;
    for (std::uint32_t k = 0; k < column.rows[s]; ++k, at += 2) {
      const auto begin = column.data.at<std::uint32_t>(at);
      const auto end = column.data.at<std::uint32_t>(at + 1);
      if (begin >= capacity) continue;
      bounds.push_back(begin);
      bounds.push_back(std::min(end, capacity));
      ++kept;
    }
    out.rows[s] = kept;
  }
  out.data = Buffer::of(std::move(bounds));
  return out;
}

Loss sample_loss(const RecordPlace& place, SampleLoss reason, const std::string& id,
                 std::uint64_t tokens, std::string cause) {
  Loss loss;
  loss.lane_record = place.number;
  loss.reason = name_of(reason);
  loss.where = place.where;
  loss.id = id;
  loss.cause = std::move(cause);
  loss.tokens = tokens;
  return loss;
}

Result<JudgedRecord> judge_lost(const RecordPolicy& policy, const RecordPlace& place,
                                Encoded encoded, JudgedRecord judged) {
  if (policy.on_bad_record == BadRecord::kStop) {
    return fail(ExitCode::kDataRefused,
                fmt::format("{}: {} (on_bad_record is stop: mend or remove the record, or set "
                            "on_bad_record: quarantine to go on without it)",
                            place.where, encoded.text));
  }
  ++judged.ledger.records_lost[static_cast<std::size_t>(encoded.reason)];
  Loss loss;
  loss.lane_record = place.number;
  loss.reason = name_of(encoded.reason);
  loss.where = place.where;
  loss.id = place.id;
  loss.cause = std::move(encoded.text);
  judged.losses.push_back(std::move(loss));
  return judged;
}

}  // namespace

Samples truncated(const Samples& samples, std::uint32_t capacity) {
  Samples out;
  out.ids = samples.ids;
  out.lengths = samples.lengths;
  for (std::uint32_t& length : out.lengths) length = std::min(length, capacity);
  out.columns.reserve(samples.columns.size());
  for (const Column& column : samples.columns) {
    if (column.kind == ColumnKind::kSpans) {
      out.columns.push_back(cut_spans(column, capacity));
    } else {
      out.columns.push_back(column);
      if (column.kind == ColumnKind::kPerToken) {
        out.columns.back().data = Buffer::of(cut_items(column, samples.lengths, capacity));
      }
    }
  }
  return out;
}

bool worth_a_word(const RecordPolicy& policy, const Encoded& encoded) {
  const auto& lengths = encoded.samples.lengths;
  return encoded.lost || std::any_of(lengths.begin(), lengths.end(), [&](std::uint32_t length) {
           return length == 0 || length > policy.capacity;
         });
}

Result<JudgedRecord> judge(const RecordPolicy& policy, const RecordPlace& place, Encoded encoded) {
  JudgedRecord judged;
  judged.number = place.number;
  Ledger& ledger = judged.ledger;
  ledger.records_read = 1;
  if (encoded.lost) return judge_lost(policy, place, std::move(encoded), std::move(judged));

  ledger.records_encoded = 1;
  Samples& samples = encoded.samples;
  bool cut = false;
  for (std::uint32_t i = 0; i < samples.size(); ++i) {
    const std::uint32_t length = samples.lengths[i];
    ++ledger.samples_made;
    ledger.tokens_made += length;
    const auto lose = [&](SampleLoss reason, std::string cause) {
      ++ledger.samples_lost[static_cast<std::size_t>(reason)];
      ledger.tokens_lost[static_cast<std::size_t>(reason)] += length;
      judged.losses.push_back(sample_loss(place, reason, samples.ids[i], length, std::move(cause)));
    };
    if (length == 0) {
      lose(SampleLoss::kEmpty, "the sample has no tokens");
      continue;
    }
    if (length > policy.capacity) {
      std::string cause = fmt::format("the sample has {} tokens, more than the capacity of {}",
                                      length, policy.capacity);
      if (policy.over_long == OverLong::kError) {
        return fail(ExitCode::kDataRefused,
                    fmt::format("{}: {} ({}; over_long is error: raise pack.capacity, or set "
                                "pack.over_long to drop or truncate_right)",
                                place.where, cause, samples.ids[i]));
      }
      if (policy.over_long == OverLong::kDrop) {
        lose(SampleLoss::kOverLong, std::move(cause));
        continue;
      }
      ledger.tokens_truncated += length - policy.capacity;
      cut = true;
    }
    judged.packable.push_back(i);
  }
  judged.samples = cut ? truncated(samples, policy.capacity) : std::move(samples);
  return judged;
}

}  // namespace packline

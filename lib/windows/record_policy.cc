#include "lib/windows/record_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/sample/parts.h"

namespace packline {
namespace {

// A sample, or what the job's policy makes of one that is too long.
struct Piece {
  std::uint32_t sample = 0;
  std::uint32_t begin = 0, end = 0;  // tokens
  bool packable = true;
};

bool all_ignored(const std::vector<std::int32_t>& labels, std::uint64_t from, std::uint32_t n) {
  return std::all_of(labels.begin() + static_cast<std::ptrdiff_t>(from),
                     labels.begin() + static_cast<std::ptrdiff_t>(from + n),
                     [](std::int32_t label) { return label == kIgnore; });
}

// The pieces as a group of samples of their own.
Result<Samples> cut(const Samples& samples, const std::vector<Piece>& pieces, OverLong over_long) {
  std::vector<Samples> parts;
  parts.reserve(pieces.size());
  for (const Piece& p : pieces) {
    const std::uint32_t length = samples.lengths[p.sample];
    if (p.begin == 0 && p.end == length) {
      parts.push_back(gather(samples, {p.sample}));
      continue;
    }
    const bool is_split = over_long == OverLong::kSplit;
    parts.push_back(part_of(samples, p.sample, p.begin, p.end, p.begin == 0 || !is_split));
    if (is_split && p.begin > 0) parts.back().ids[0] += fmt::format("~{}", p.begin);
  }
  return concatenate(parts);
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

RecordPolicy::RecordPolicy(const Job& job)
    : capacity(job.pack.strategy == Strategy::kWrapped ? UINT32_MAX : job.pack.capacity),
      over_long(job.pack.over_long),
      drop_unsupervised(job.pack.drop_unsupervised),
      on_bad_record(job.on_bad_record) {}

bool worth_a_word(const RecordPolicy& policy, const Encoded& encoded) {
  const auto& lengths = encoded.samples.lengths;
  return encoded.lost || policy.drop_unsupervised ||
         std::any_of(lengths.begin(), lengths.end(),
                     [&](std::uint32_t length) { return length == 0 || length > policy.capacity; });
}

namespace {

// What becomes of one record's samples, one after the other.
class Judge {
 public:
  Judge(const RecordPolicy& policy, const RecordPlace& place, const Samples& samples,
        JudgedRecord& judged)
      : policy_(policy), place_(place), samples_(samples), judged_(judged) {}

  Status look_at(std::uint32_t i) {
    const std::uint32_t length = samples_.lengths[i];
    ++judged_.ledger.samples_made;
    judged_.ledger.tokens_made += length;
    if (length == 0) {
      lose(SampleLoss::kEmpty, samples_.ids[i], 0, "the sample has no tokens");
      pieces_.push_back({i, 0, 0, false});
    } else if (length > policy_.capacity) {
      return look_at_long(i, length);
    } else {
      pieces_.push_back({i, 0, length, true});
    }
    return {};
  }

  const std::vector<Piece>& pieces() const { return pieces_; }
  bool cuts() const { return cuts_; }

  void lose(SampleLoss reason, const std::string& id, std::uint64_t tokens, std::string cause) {
    ++judged_.ledger.samples_lost[static_cast<std::size_t>(reason)];
    judged_.ledger.tokens_lost[static_cast<std::size_t>(reason)] += tokens;
    judged_.losses.push_back(sample_loss(place_, reason, id, tokens, std::move(cause)));
  }

 private:
  Status look_at_long(std::uint32_t i, std::uint32_t length) {
    const std::uint32_t capacity = policy_.capacity;
    std::string cause =
        fmt::format("the sample has {} tokens, more than the capacity of {}", length, capacity);
    switch (policy_.over_long) {
      case OverLong::kError:
        return fail(ExitCode::kDataRefused,
                    fmt::format("{}: {} ({}; over_long is error: raise pack.capacity, or set "
                                "pack.over_long to drop, split, truncate_right or truncate_left)",
                                place_.where, cause, samples_.ids[i]));
      case OverLong::kDrop:
        lose(SampleLoss::kOverLong, samples_.ids[i], length, std::move(cause));
        pieces_.push_back({i, 0, length, false});
        return {};
      case OverLong::kTruncateRight:
        pieces_.push_back({i, 0, capacity, true});
        break;
      case OverLong::kTruncateLeft:
        pieces_.push_back({i, length - capacity, length, true});
        break;
      case OverLong::kSplit:
        for (std::uint32_t begin = 0; begin < length;) {
          const std::uint32_t end = length - begin > capacity ? begin + capacity : length;
          pieces_.push_back({i, begin, end, true});
          judged_.ledger.samples_made += begin > 0 ? 1 : 0;
          begin = end;
        }
        cuts_ = true;
        return {};
    }
    cuts_ = true;
    judged_.ledger.tokens_truncated += length - capacity;
    return {};
  }

  const RecordPolicy& policy_;
  const RecordPlace& place_;
  const Samples& samples_;
  JudgedRecord& judged_;
  std::vector<Piece> pieces_;
  bool cuts_ = false;
};

}  // namespace

Result<JudgedRecord> judge(const RecordPolicy& policy, const RecordPlace& place, Encoded encoded) {
  JudgedRecord judged;
  judged.number = place.number;
  judged.ledger.records_read = 1;
  if (encoded.lost) return judge_lost(policy, place, std::move(encoded), std::move(judged));

  judged.ledger.records_encoded = 1;
  const std::size_t samples = encoded.samples.size();
  Judge judgement(policy, place, encoded.samples, judged);
  for (std::uint32_t i = 0; i < samples; ++i) {
    if (Status ok = judgement.look_at(i); !ok) return tl::unexpected<Error>(ok.error());
  }
  if (judgement.cuts()) {
    Result<Samples> pieces = cut(encoded.samples, judgement.pieces(), policy.over_long);
    if (!pieces) return tl::unexpected<Error>(pieces.error());
    judged.samples = std::move(*pieces);
  } else {
    judged.samples = std::move(encoded.samples);
  }
  const std::vector<std::int32_t> labels =
      policy.drop_unsupervised ? labels_of(judged.samples) : std::vector<std::int32_t>{};
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < judgement.pieces().size(); ++i) {
    const std::uint32_t length = judged.samples.lengths[i];
    if (judgement.pieces()[i].packable) {
      if (policy.drop_unsupervised && all_ignored(labels, at, length)) {
        judgement.lose(SampleLoss::kUnsupervised, judged.samples.ids[i], length,
                       "no token of the sample carries loss");
      } else {
        judged.packable.push_back(i);
      }
    }
    at += length;
  }
  return judged;
}

}  // namespace packline

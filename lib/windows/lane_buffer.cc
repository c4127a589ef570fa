#include "lib/windows/lane_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/check.h"
#include "lib/sample/parts.h"

namespace packline {
tl::unexpected<Error> LaneBuffer::wrong_position(const std::string& why) {
  started_ = false;
  return fail(ExitCode::kWrongJob,
              fmt::format("lane {}, epoch {}, window {} of the lane: {}; go on from a checkpoint "
                          "that was written with this job and these data",
                          lane_, place_.epoch, place_.index, why));
}

// The same for a position that is well formed, hence printable, but maybe long.
tl::unexpected<Error> LaneBuffer::position_misses(const std::string& why) {
  constexpr std::size_t kShown = 120;
  std::string shown = place_.position.substr(0, kShown);
  if (place_.position.size() > kShown) shown += "...";
  return wrong_position(fmt::format("the position \"{}\" is not one of this job: {}", shown, why));
}

// What Position::parse() cannot know.
Status LaneBuffer::check_position(bool cuts_samples) const {
  const auto wrong = [](std::string why) { return fail(ExitCode::kWrongJob, std::move(why)); };
  if (start_.record > lane_records_) {
    return wrong(
        fmt::format("it names record {} of a lane of {} records", start_.record, lane_records_));
  }
  if (start_.record == lane_records_ && start_.sample > 0) {
    return wrong(
        fmt::format("it names a sample of record {}, behind the lane's end", start_.record));
  }
  if (start_.token > 0 && !cuts_samples) {
    return wrong("it lies within a sample, where no window of this job ends");
  }
  if (cuts_samples && !start_.carried.empty()) {
    return wrong("it carries samples, which no window of this job leaves for later");
  }
  if (start_.token > 0 && start_.record == lane_records_) {
    return wrong("it lies within a sample behind the lane's end");
  }
  return {};
}

Status LaneBuffer::start(std::uint32_t lane, const Place& place, std::uint64_t lane_records,
                         bool cuts_samples) {
  *this = LaneBuffer();
  lane_ = lane;
  place_ = place;
  lane_records_ = lane_records;
  Result<Position> position = Position::parse(place.position);
  if (!position) return wrong_position(position.error().text);
  start_ = std::move(*position);
  if (const Status ok = check_position(cuts_samples); !ok) return position_misses(ok.error().text);
  for (const CarriedRef& ref : start_.carried) {
    if (ref.record < start_.record &&
        (carried_records_.empty() || carried_records_.back() != ref.record)) {
      carried_records_.push_back(ref.record);
    }
  }
  head_.record = start_.record;
  head_.sample = start_.sample;
  next_ = start_.record;
  skip_ = start_.sample;
  skip_tokens_ = start_.token;
  started_ = true;
  return {};
}

void LaneBuffer::add_candidate(const std::shared_ptr<Samples>& samples, std::uint64_t record,
                               std::uint32_t sample, std::uint32_t age, std::uint32_t begin) {
  const std::uint32_t tokens = samples->lengths[sample];
  candidates_.push_back({tokens, age, begin, is_media(*samples, sample)});
  refs_.push_back({samples, record, sample});
  tokens_ += tokens - begin;
  if (age > 0) ++carried_;
}

// The samples of this record that the position carries.
Status LaneBuffer::add_carried(const JudgedRecord& record,
                               const std::shared_ptr<Samples>& samples) {
  while (carried_added_ < start_.carried.size() &&
         start_.carried[carried_added_].record == record.number) {
    const CarriedRef& ref = start_.carried[carried_added_];
    if (!std::binary_search(record.packable.begin(), record.packable.end(), ref.sample)) {
      return position_misses(
          fmt::format("it carries sample {} of record {}, which has no such "
                      "sample to pack",
                      ref.sample, ref.record));
    }
    add_candidate(samples, ref.record, ref.sample, ref.age, 0);
    ++carried_added_;
  }
  return {};
}

Status LaneBuffer::add(JudgedRecord record) {
  PL_CHECK(started_);
  const auto samples = std::make_shared<Samples>(std::move(record.samples));
  if (record.number < start_.record) return add_carried(record, samples);

  PL_CHECK_EQ(record.number, next_);
  if (skip_ > 0 || skip_tokens_ > 0) {  // the first one, which an earlier window began and counted
    const bool packed = std::binary_search(record.packable.begin(), record.packable.end(), skip_);
    if (skip_ >= samples->size() || skip_tokens_ >= std::max(samples->lengths[skip_], 1U) ||
        (skip_tokens_ > 0 && !packed)) {
      return position_misses(
          fmt::format("it names token {} of sample {} of record {}, which has "
                      "no such one",
                      skip_tokens_, skip_, record.number));
    }
    if (const Status ok = add_carried(record, samples); !ok) return ok;
  } else {
    uncounted_.push_back({record.number, record.ledger, std::move(record.losses)});
  }
  for (const std::uint32_t sample : record.packable) {
    if (sample < skip_) continue;
    add_candidate(samples, record.number, sample, 0, sample == skip_ ? skip_tokens_ : 0);
  }
  skip_ = skip_tokens_ = 0;
  ++next_;
  return {};
}

bool LaneBuffer::wants_more(const PackSettings& settings) {
  if (carried_added_ < start_.carried.size()) return true;
  return next_ < lane_records_ && packline::wants_more(settings, candidates_, reach_);
}

// Directly behind the last sample considered, or in the next one where it is cut. One that was
// carried lies before the head, which then stays.
void LaneBuffer::set_head_after(const Closing& closing) {
  if (closing.cut > 0) {
    const Ref& next = refs_[closing.considered];
    head_.record = next.record;
    head_.sample = next.sample;
    head_.token = closing.cut;
    return;
  }
  if (closing.considered <= carried_) return;
  const Ref& last = refs_[closing.considered - 1];
  const bool record_ends = last.sample + 1 == last.samples->size();
  head_.record = last.record + (record_ends ? 1 : 0);
  head_.sample = record_ends ? 0 : last.sample + 1;
  head_.token = 0;
}

// Moves what lies between the window's `before` and `after` to its ledger.
void LaneBuffer::count(ClosedWindow& window, std::vector<Loss>& losses) {
  while (!uncounted_.empty() &&
         (uncounted_.front().record < head_.record ||
          (uncounted_.front().record == head_.record && (head_.sample > 0 || head_.token > 0)))) {
    Uncounted& record = uncounted_.front();
    window.ledger += record.ledger;
    for (Loss& loss : record.losses) {
      loss.window = window.key;
      losses.push_back(std::move(loss));
    }
    uncounted_.pop_front();
  }
}

// What closing itself adds to the ledger: pieces, repetitions, and what the remainder loses.
void LaneBuffer::count_closing(const Closing& closing, ClosedWindow& window,
                               std::vector<Loss>& losses) const {
  Ledger& ledger = window.ledger;
  for (const Placed& p : closing.placed) {
    if (p.repetition > 0) {
      ++ledger.samples_repeated;
      ledger.tokens_repeated += p.end - p.begin;
    } else if (p.begin > 0) {
      ++ledger.samples_made;
    }
  }
  for (const Placed& p : closing.lost) {
    if (p.begin > 0) {  // its beginning was delivered
      ledger.tokens_truncated += p.end - p.begin;
      continue;
    }
    constexpr auto kRemainder = static_cast<std::size_t>(SampleLoss::kRemainder);
    ++ledger.samples_lost[kRemainder];
    ledger.tokens_lost[kRemainder] += p.end;
    const Ref& ref = refs_[p.candidate];
    Loss loss = remainder_loss(ref.samples->ids[ref.sample], p.end);
    loss.window = window.key;
    loss.lane_record = ref.record;
    losses.push_back(std::move(loss));
  }
}

Samples LaneBuffer::part(const Placed& placed) const {
  const Ref& ref = refs_[placed.candidate];
  Samples part = part_of(*ref.samples, ref.sample, placed.begin, placed.end, placed.begin == 0);
  if (placed.begin > 0) part.ids[0] += fmt::format("~{}", placed.begin);
  if (placed.repetition > 0) part.ids[0] += fmt::format("*{}", placed.repetition);
  return part;
}

Result<Samples> LaneBuffer::take(const std::vector<Placed>& placed) {
  std::vector<Samples> parts;
  parts.reserve(placed.size());
  const bool once = std::ranges::none_of(placed, [](const Placed& p) { return p.repetition > 0; });
  for (const Placed& p : placed) {
    const Ref& ref = refs_[p.candidate];
    // One sample a record is the rule; then nobody else needs the record any more, once it is taken
    // whole.
    const bool whole = ref.samples->size() == 1 && p.begin == 0 && p.end == ref.samples->lengths[0];
    parts.push_back(whole && once ? std::move(*ref.samples) : part(p));
  }
  if (parts.empty()) return Samples{};
  return concatenate(parts);
}

// What is left are the carried ones, a window older, the rest of one that was cut, and the new ones
// not yet considered.
void LaneBuffer::drop_taken(const Closing& closing) {
  std::vector<bool> taken(candidates_.size());
  for (const Placed& p : closing.placed) taken[p.candidate] = true;
  for (const Placed& p : closing.lost) taken[p.candidate] = true;
  if (closing.cut > 0) {
    Candidate& rest = candidates_[closing.considered];
    taken[closing.considered] = false;
    tokens_ -= closing.cut - rest.begin;
    rest.begin = closing.cut;
  }
  std::size_t kept = 0;
  std::size_t carried = 0;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (taken[i]) {
      tokens_ -= candidates_[i].tokens - candidates_[i].begin;
      continue;
    }
    if (i < carried_ || i < closing.considered) {
      ++candidates_[i].age;
      ++carried;
    }
    candidates_[kept] = candidates_[i];
    if (kept != i) refs_[kept] = std::move(refs_[i]);
    ++kept;
  }
  candidates_.resize(kept);
  refs_.resize(kept);
  reach_ = {};
  carried_ = carried;
}

std::string LaneBuffer::position_text() const {
  Position position = head_;
  for (std::size_t i = 0; i < carried_; ++i) {
    position.carried.push_back({refs_[i].record, refs_[i].sample, candidates_[i].age});
  }
  return position.text();
}

Result<ClosedWindow> LaneBuffer::close(const PackSettings& settings, Planner& planner,
                                       std::uint64_t number, std::vector<Loss>& losses) {
  PL_CHECK(started_ && !wants_more(settings));
  Closing closing = close_window(settings, planner, place_.epoch, number, candidates_, at_end());
  ClosedWindow window;
  window.key = {lane_, place_.epoch, place_.index};
  window.before = place_.position;
  window.last = closing.last;
  if (window.last) {
    head_ = Position{};
    head_.record = lane_records_;
  } else {
    set_head_after(closing);
  }
  Result<Samples> samples = take(closing.placed);
  if (!samples) {
    started_ = false;
    return tl::unexpected<Error>(samples.error());
  }
  window.samples = std::move(*samples);
  window.packs = std::move(closing.packs);
  count(window, losses);
  count_closing(closing, window, losses);
  drop_taken(closing);
  window.after = position_text();
  ++place_.index;
  place_.position = window.after;
  if (window.last) started_ = false;  // the next place is another epoch's, with other records
  return window;
}

}  // namespace packline

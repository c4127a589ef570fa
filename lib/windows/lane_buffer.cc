#include "lib/windows/lane_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/check.h"

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
Status LaneBuffer::check_position() const {
  const auto wrong = [](std::string why) { return fail(ExitCode::kWrongJob, std::move(why)); };
  if (start_.record > lane_records_) {
    return wrong(
        fmt::format("it names record {} of a lane of {} records", start_.record, lane_records_));
  }
  if (start_.record == lane_records_ && start_.sample > 0) {
    return wrong(
        fmt::format("it names a sample of record {}, behind the lane's end", start_.record));
  }
  if (start_.token > 0) return wrong("it lies within a sample, where no window of this job ends");
  return {};
}

Status LaneBuffer::start(std::uint32_t lane, const Place& place, std::uint64_t lane_records) {
  *this = LaneBuffer();
  lane_ = lane;
  place_ = place;
  lane_records_ = lane_records;
  Result<Position> position = Position::parse(place.position);
  if (!position) return wrong_position(position.error().text);
  start_ = std::move(*position);
  if (const Status ok = check_position(); !ok) return position_misses(ok.error().text);
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
  started_ = true;
  return {};
}

void LaneBuffer::add_candidate(const std::shared_ptr<Samples>& samples, std::uint64_t record,
                               std::uint32_t sample, std::uint32_t age) {
  const std::uint32_t length = samples->lengths[sample];
  candidates_.push_back({length, age});
  refs_.push_back({samples, record, sample});
  tokens_ += length;
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
    add_candidate(samples, ref.record, ref.sample, ref.age);
    ++carried_added_;
  }
  return {};
}

Status LaneBuffer::add(JudgedRecord record) {
  PL_CHECK(started_);
  const auto samples = std::make_shared<Samples>(std::move(record.samples));
  if (record.number < start_.record) return add_carried(record, samples);

  PL_CHECK_EQ(record.number, next_);
  if (skip_ > 0) {  // the first one, which an earlier window began and counted
    if (skip_ >= samples->size()) {
      return position_misses(fmt::format("it names sample {} of record {}, which has {}", skip_,
                                         record.number, samples->size()));
    }
    if (const Status ok = add_carried(record, samples); !ok) return ok;
  } else {
    uncounted_.push_back({record.number, record.ledger, std::move(record.losses)});
  }
  for (const std::uint32_t sample : record.packable) {
    if (sample >= skip_) add_candidate(samples, record.number, sample, 0);
  }
  skip_ = 0;
  ++next_;
  return {};
}

bool LaneBuffer::wants_more(const PackSettings& settings) const {
  if (carried_added_ < start_.carried.size()) return true;
  return next_ < lane_records_ && packline::wants_more(settings, candidates_);
}

// Directly behind the last sample considered. One that was carried lies before the head, which
// then stays.
void LaneBuffer::set_head_after(std::uint32_t considered) {
  if (considered <= carried_) return;
  const Ref& last = refs_[considered - 1];
  const bool record_ends = last.sample + 1 == last.samples->size();
  head_.record = last.record + (record_ends ? 1 : 0);
  head_.sample = record_ends ? 0 : last.sample + 1;
}

// Moves what lies between the window's `before` and `after` to its ledger.
void LaneBuffer::count(ClosedWindow& window, std::vector<Loss>& losses) {
  while (!uncounted_.empty() && (uncounted_.front().record < head_.record ||
                                 (uncounted_.front().record == head_.record && head_.sample > 0))) {
    Uncounted& record = uncounted_.front();
    window.ledger += record.ledger;
    for (Loss& loss : record.losses) {
      loss.window = window.key;
      losses.push_back(std::move(loss));
    }
    uncounted_.pop_front();
  }
}

Result<Samples> LaneBuffer::take(const std::vector<std::uint32_t>& taken) {
  std::vector<Samples> parts;
  parts.reserve(taken.size());
  for (std::size_t i = 0; i < taken.size();) {
    std::vector<std::uint32_t> chosen;
    const std::shared_ptr<Samples> record = refs_[taken[i]].samples;
    for (; i < taken.size() && refs_[taken[i]].samples == record; ++i) {
      chosen.push_back(refs_[taken[i]].sample);
    }
    // All of a record's samples at once is the rule; then nobody else needs it any more.
    const bool whole = chosen.size() == record->size();
    parts.push_back(whole ? std::move(*record) : gather(*record, chosen));
  }
  if (parts.empty()) return Samples{};
  return concatenate(parts);
}

// What is left are the carried ones, a window older, and the new ones not yet considered.
void LaneBuffer::drop_taken(const Closing& closing) {
  std::size_t kept = 0;
  std::size_t carried = 0;
  auto next_taken = closing.taken.begin();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (next_taken != closing.taken.end() && *next_taken == i) {
      tokens_ -= candidates_[i].length;
      ++next_taken;
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
                                       std::vector<Loss>& losses) {
  PL_CHECK(started_ && !wants_more(settings));
  const Closing closing = close_window(settings, planner, candidates_, at_end());
  ClosedWindow window;
  window.key = {lane_, place_.epoch, place_.index};
  window.before = place_.position;
  window.packs = closing.packs;
  window.last = at_end() && closing.taken.size() == candidates_.size();
  if (window.last) {
    head_ = Position{};
    head_.record = lane_records_;
  } else {
    set_head_after(closing.considered);
  }
  Result<Samples> samples = take(closing.taken);
  if (!samples) {
    started_ = false;
    return tl::unexpected<Error>(samples.error());
  }
  window.samples = std::move(*samples);
  count(window, losses);
  drop_taken(closing);
  window.after = position_text();
  ++place_.index;
  place_.position = window.after;
  if (window.last) started_ = false;  // the next place is another epoch's, with other records
  return window;
}

}  // namespace packline

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "lib/base/result.h"
#include "lib/corpus/position.h"
#include "lib/packing/closing.h"
#include "lib/windows/record_policy.h"
#include "lib/windows/window_maker.h"

namespace packline {

// What one lane has read and not yet packed, and the rule by which it becomes windows
// (docs/stream.md sections 5.2, 6 and 8). It reads nothing: whoever owns it hands in the records of
// the lane one by one, in order. Pure; one thread at a time.
//
// Life: start() at a place; add() the records it names, until wants_more() is false; close(); and
// so on from there: after close() it stands at the lane's next place. After an error it is idle.
class LaneBuffer {
 public:
  // Goes to a place whose epoch has `lane_records` records in this lane. `cuts_samples`: windows
  // may end within a sample. Error (kWrongJob): a position that cannot be one of such a lane.
  Status start(std::uint32_t lane, const Place& place, std::uint64_t lane_records,
               bool cuts_samples);
  void stop() { started_ = false; }

  bool started() const { return started_; }
  bool stands_at(const Place& place) const { return started_ && place == place_; }
  const Place& place() const { return place_; }

  // After start(), the records to hand in: first those that hold carried samples, then all from
  // head() on.
  const std::vector<std::uint64_t>& carried_records() const { return carried_records_; }
  std::uint64_t head() const { return head_.record; }
  std::uint64_t lane_records() const { return lane_records_; }

  // The next record. Error (kWrongJob): it lacks a sample that the position names.
  Status add(JudgedRecord record);

  // The lane ends with what was handed in: of one whose `lane_records` was not known.
  void ends_here() { lane_records_ = next_; }

  // Whether the next window needs to see further: not yet enough tokens, and the lane goes on.
  bool wants_more(const PackSettings& settings);
  std::uint64_t tokens() const { return tokens_; }  // of all candidates

  // Closes the window at place(), which is number `window` of its epoch; wants_more() must be
  // false. `losses` gets each loss counted in it; `where` of one that came with closing is left
  // empty. Error: samples whose columns do not go together (lib/sample concatenate()).
  Result<ClosedWindow> close(const PackSettings& settings, Planner& planner, std::uint64_t window,
                             std::vector<Loss>& losses);

 private:
  // A candidate's sample: which one of which record.
  struct Ref {
    std::shared_ptr<Samples> samples;  // of the record
    std::uint64_t record = 0;
    std::uint32_t sample = 0;
  };
  // A record from the head on that no window has counted yet.
  struct Uncounted {
    std::uint64_t record = 0;
    Ledger ledger;
    std::vector<Loss> losses;
  };

  tl::unexpected<Error> wrong_position(const std::string& why);
  tl::unexpected<Error> position_misses(const std::string& why);
  Status check_position(bool cuts_samples) const;
  Status add_carried(const JudgedRecord& record, const std::shared_ptr<Samples>& samples);
  void add_candidate(const std::shared_ptr<Samples>& samples, std::uint64_t record,
                     std::uint32_t sample, std::uint32_t age, std::uint32_t begin);
  bool at_end() const { return next_ == lane_records_ && carried_added_ == start_.carried.size(); }
  void set_head_after(const Closing& closing);
  void count(ClosedWindow& window, std::vector<Loss>& losses);
  void count_closing(const Closing& closing, ClosedWindow& window, std::vector<Loss>& losses) const;
  Result<Samples> take(const std::vector<Placed>& placed);
  Samples part(const Placed& placed) const;
  void drop_taken(const Closing& closing);
  std::string position_text() const;

  bool started_ = false;
  std::uint32_t lane_ = 0;
  Place place_;
  Position start_;                 // of start(); its carried samples come in one by one
  std::size_t carried_added_ = 0;  // of start_.carried
  std::vector<std::uint64_t> carried_records_;
  std::uint64_t lane_records_ = 0;
  Position head_;                      // the next sample to consider, without carried ones
  std::uint64_t next_ = 0;             // the next record from the head on to be handed in
  std::uint32_t skip_ = 0;             // samples of the first of those that lie before the head
  std::uint32_t skip_tokens_ = 0;      // and tokens of the first sample that does not
  std::vector<Candidate> candidates_;  // in lane order, the carried first
  std::vector<Ref> refs_;              // one a candidate
  Reach reach_;                        // of these
  std::size_t carried_ = 0;            // how many candidates are carried ones
  std::uint64_t tokens_ = 0;
  std::deque<Uncounted> uncounted_;
};

}  // namespace packline

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/instant.h"
#include "lib/delivery/identity.h"
#include "lib/delivery/leases.h"
#include "lib/delivery/place.h"
#include "lib/delivery/role.h"
#include "lib/delivery/times.h"
#include "lib/wire/messages.h"
#include "producer/reports.h"

namespace packline {

struct ProducerSettings {
  std::uint32_t index = 0;
  std::uint32_t producers = 1;  // owns the lanes with lane % producers == index
  JobShape job;
  std::uint32_t window_credit = 4;  // windows held a lane, at most
  std::uint64_t session = 0;        // of this life; random
  Identity identity;                // of the job; notices carry it
  DeliveryTimes times = {};
  bool absent_trainer_fails = true;  // else one may rest for hours, which is no sign of trouble
  // The source cannot go back at will: nothing is let go before every rank has said what it wants.
  bool reads_once = false;
};

// ACTIVE ──(every dp_rank's sink reported done)──► FINISHED ──(all said bye, or silence)──► DONE
//    └──(no sink reports for fail_after)──► DONE, with an exit code that is not 0
enum class ProducerState : std::uint8_t {
  kActive,    // reads and sends windows
  kFinished,  // every rank is done: only tells so until all have heard it
  kDone,      // exit() says how it ended; no call changes anything any more
};
std::string_view name_of(ProducerState s);  // active, finished, done

// A window to be made: the one at `place` of `lane`. Answer with on_window() and the same ticket.
struct ReadRequest {
  std::uint64_t ticket = 0;
  std::uint32_t lane = 0;
  Place place;
};

struct ProducerCounters {
  std::uint64_t windows_closed = 0;
  std::uint64_t windows_sent = 0;        // to a packer, each time
  std::uint64_t windows_sent_again = 0;  // of these, after a lease ended without a report of it
  std::uint64_t reports_stale = 0;       // ignored: an older one, or of a life that was replaced
  std::uint64_t refused_other_job = 0;
  std::uint64_t refused_other_dp_size = 0;
  std::uint64_t refused_bad = 0;     // a dp_rank beyond dp_size, or places of lanes not ours
  std::uint64_t seeks = 0;           // a rank wanted something that was not held: back or ahead
  std::uint64_t reads_dropped = 0;   // windows made for a place that nobody wants any more
  std::uint64_t places_refused = 0;  // reads of a place that is none of this job's
};

// The producer's part of the delivery protocol (docs/delivery.md, rules P1 to P5): which window to
// make next, which to keep, which to send to which sinks and when again.
//
// Invariant: at most window_credit windows are held a lane, from the lowest place that any rank
// wants on; what it does not hold it can have made again. Owner and thread: the service's loop; no
// clock and no socket: `now` is an argument and never goes back.
class Producer {
 public:
  Producer(ProducerSettings settings, Instant now);

  // P1, P2. Another job's or dp_size's report is counted and changes nothing.
  void on_report(const Report& r, Instant now);

  // P3: what should be made now and was not asked for yet, in the order in which it is wanted; at
  // most one a lane is under way. A seek ends that one: its ticket is not `wanted` any more, its
  // window is dropped by on_window(), and the lane's new place is asked for at once.
  std::vector<ReadRequest> take_reads(Instant now);
  bool wanted(std::uint64_t ticket) const;

  // The window of a ReadRequest; `to` and `envelope` need not be set. False when nobody wants it
  // any more. CHECKs that it is the window that was asked for.
  bool on_window(std::uint64_t ticket, Window w, Instant now);

  // The window of a ReadRequest cannot be made, because its place is none of this job's: a cursor
  // was changed by hand. The lane stays unread until its base changes; notices say why, so that the
  // sink of the rank that wants it can tell. False when nobody wants it any more.
  // `gone`: it is the job's, but the source cannot go back to it.
  bool on_refused(std::uint64_t ticket, std::string text, bool gone = false);

  // What the making of windows waits for now, outside of the line: "the pipe P, whose writer sends
  // nothing"; "" = for nothing. Call it every turn.
  void on_source_wait(std::string what, Instant now);

  // P4: gives try_send each window that some sink lacks, lowest first, with `to` set, and starts
  // the leases where it returned true. False = no packer can be written now: it stops there, starts
  // no lease, and blocked() is true until a call has sent all that is due. Call it after every
  // event, when blocked() and a packer can be written, and every 50 to 200 ms for leases that end.
  void dispatch(Instant now, const std::function<bool(const Window&)>& try_send);
  bool blocked() const { return unsent_since_.has_value(); }

  // P5 and the "fail" rule. Call every 50 to 200 ms.
  void tick(Instant now);

  // What to publish every times.report: this producer's whole state.
  Notice notice(std::uint32_t packers_connected, Instant now) const;

  ProducerState state() const { return state_; }
  const std::optional<Exit>& exit() const { return exit_; }  // set when DONE
  std::vector<Wait> waits(Instant now, std::uint32_t packers_connected) const;
  const ProducerCounters& counters() const { return counters_; }
  std::uint32_t held() const;  // windows, over all lanes

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // (epoch, index)
  struct Lane {
    std::map<Key, Window> held;
    std::optional<Place> head;  // the next window to make; none before the first report
    std::uint64_t ticket = 0;   // of the read that is wanted; 0 = none
    bool asked = false;         // that read was handed out by take_reads
    Instant reading_since{};
    std::optional<Place> base;  // the lowest that a rank wants; none before the first report
    std::string refused;  // why the head cannot be read, as long as the base is this; "" = can
    bool gone = false;    // of `refused`
  };

  bool admits(const Report& r);
  void plan(Instant now);
  static bool reaches(const Lane& l, const Place& base);
  void plan_lane(std::uint32_t lane, Lane& l);
  void move_base(std::uint32_t lane, Lane& l, const Place& base);
  std::optional<std::uint32_t> awaited_rank(std::uint32_t lane) const;
  bool full(const Lane& l) const { return l.head && l.held.size() >= settings_.window_credit; }
  bool on_its_way(const Leases::Lease& l) const;
  std::vector<Window*> in_order();
  std::vector<Destination> lacking(const WindowKey& key, Instant now) const;
  std::optional<std::uint32_t> slowest_rank() const;
  void end(ExitCode code, std::string text);

  ProducerSettings settings_;
  std::map<std::uint32_t, Lane> lanes_;
  RankReports reports_;
  Leases leases_;
  ProducerState state_ = ProducerState::kActive;
  std::optional<Exit> exit_;
  ProducerCounters counters_;
  Instant started_;
  Instant heard_;  // the last valid report of any rank
  Instant finished_at_{};
  std::uint64_t next_ticket_ = 1;
  std::optional<Instant> unsent_since_;  // no packer could be written since then
  std::string source_wait_;              // what the reading waits for; "" = for nothing
  Instant source_wait_since_{};
  std::optional<Instant> full_since_;  // no lane can be read on for want of credit since then
};

}  // namespace packline

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/base/instant.h"
#include "lib/delivery/place.h"
#include "lib/delivery/role.h"
#include "lib/delivery/times.h"
#include "lib/wire/messages.h"
#include "sink/line_view.h"
#include "sink/peer.h"
#include "sink/shelf.h"

namespace packline {

struct SinkSettings {
  std::uint32_t dp_rank = 0;
  std::uint32_t ranks_per_dp_rank = 1;
  std::uint32_t producers = 1;
  JobShape job;
  std::uint32_t window_credit = 4;  // slices held a lane, at most
  // Packs on their way to one trainer rank, whatever room it names: no more than the transport is
  // sure to queue, since one that it drops is missed for a whole pack lease.
  std::uint32_t room_max = 128;
  bool absent_trainer_fails = true;  // after times.fail_after; not where it may rest for hours
  std::string endpoint;              // where packers send this sink's slices
  std::uint64_t session = 0;         // of this life; random, never 0
  Welcome welcome;                   // all but envelope, session and start, which the sink fills in
  DeliveryTimes times;
};

// clang-format off
// WAITING ──(a trainer says what it wants)──► SERVING ──(all producers finished)──► RELEASED ──► DONE
//    │                                           └──(done or at the end, trainer gone)──► DONE
//    └──(no trainer, or no producer, for fail_after)──► DONE, with an exit code that is not 0
// clang-format on
enum class SinkState : std::uint8_t {
  kWaiting,   // nobody has said yet what is wanted: nothing can be kept
  kServing,   // keeps slices from the mark on and hands packs out
  kReleased,  // every producer knows that all ranks are done: tells the trainers, then goes
  kDone,      // exit() says how it ended
};
std::string_view name_of(SinkState s);  // waiting, serving, released, done

// To the trainer rank with this address (the bytes that on_subscribe() was given): a Welcome, Pack,
// End, ErrorMessage or Waiting.
struct ToTrainer {
  std::string address;
  Message message;
};
struct ToProducer {
  std::uint32_t producer = 0;
  Report report;
};
using SinkOutput = std::variant<ToTrainer, ToProducer>;

struct SinkCounters {
  std::uint64_t slices = 0;          // kept
  std::uint64_t slices_had = 0;      // dropped: held already or below the mark
  std::uint64_t slices_early = 0;    // dropped: no trainer has subscribed yet
  std::uint64_t slices_full = 0;     // dropped: the lane is full of lower ones
  std::uint64_t slices_evicted = 0;  // dropped later for a lower one
  std::uint64_t slices_misfit = 0;   // dropped: at another position than a rank's cursor has
  std::uint64_t packs_sent = 0;
  std::uint64_t packs_sent_again = 0;
  std::uint64_t subscribes_stale = 0;
  std::uint64_t sessions_fenced = 0;
  std::uint64_t refused_other_job = 0;      // messages of any kind
  std::uint64_t refused_other_dp_size = 0;  // likewise
  std::uint64_t refused_bad = 0;            // another rank's, or not divisible
  std::uint64_t went_back = 0;              // a trainer wanted what lies before the mark
};

// What a status document shows of one of the ranks that share this sink.
struct PeerStatus {
  bool present = false;
  TrainerSession session;
  StreamPoint want;
  std::uint32_t room = 0;
  bool done = false;
  std::uint64_t silent_ms = 0;
  Progress progress;
};

// The sink's part of the delivery protocol (docs/delivery.md, rules S1 to S7): puts the slices of
// one dp_rank in order, serves the ranks_per_dp_rank trainer ranks that share it, each from its own
// want, and reports the lowest want as the mark.
//
// Invariant: at most window_credit slices are held a lane, all at or above the mark; what was sent
// is kept until every rank wants what lies beyond it. Owner and thread: the service's loop; no
// clock and no socket: `now` is an argument and never goes back.
class Sink {
 public:
  Sink(SinkSettings settings, Instant now);

  // `address`: how the service reaches the sender; opaque, the latest counts.
  void on_subscribe(const std::string& address, const Subscribe& s, Instant now);
  void on_slice(Slice s, Instant now);
  void on_notice(const Notice& n, Instant now);

  // Resends, reports, "waiting" sentences and the end. Call every 50 to 200 ms.
  void tick(Instant now);

  // What to send, in order; call after each event.
  std::vector<SinkOutput> take_outputs();

  SinkState state() const { return state_; }
  const std::optional<Exit>& exit() const { return exit_; }
  std::vector<Wait> waits(Instant now) const;
  const SinkCounters& counters() const { return counters_; }
  std::vector<PeerStatus> peers(Instant now) const;
  std::optional<StreamPoint> mark() const;
  std::size_t held() const { return shelf_.size(); }  // slices

 private:
  // Events (sink.cc).
  bool admits(const std::string& address, const Subscribe& s);
  bool takes_over(const std::string& address, Peer& p, const Subscribe& s, Instant now);
  void send_error(const std::string& address, const TrainerSession& to, ErrorReason why,
                  std::string text);
  void answer_welcome(const std::string& address, const Subscribe& s);
  bool admits(const Slice& s);
  void move_mark();
  void settle();
  bool end_if_bare(Instant now);
  const Slice* slice_at(const Cursor& c) const;
  void refuse_misfits();
  void refuse_unreadable(const Notice& n, Instant now);

  // Serving (serve.cc).
  struct Walk;
  void serve(Peer& p, Instant now);
  void serve_window(Peer& p, Walk& w, const Slice& s, Instant now);
  bool due(Peer& p, const StreamPoint& from, bool is_end, Instant now);
  void refuse_pack(const Peer& p, const StreamPoint& wanted, std::uint32_t packs);
  void send_end(Peer& p, const StreamPoint& from, const Cursor& cursor,
                std::vector<EpochTally> passed, bool released);
  void release(Peer& p);
  void tell_waiting(Peer& p, Instant now);

  // Reports, the end and the status document (sink_end.cc).
  void report(Instant now, bool bye = false);
  void check_end(Instant now);
  void check_failed(Instant now);
  void end(ExitCode code, std::string text, Instant now);
  bool all_done() const;
  struct Missed {
    std::string window, why;
  };
  Missed first_missed(const Cursor& c, Instant now) const;
  // "sink 3 misses window 37 (lane 1); ..."
  std::string missing(const Cursor& c, Instant now) const;
  // "window 37 (lane 1) (...)", see Wait.
  std::string missed(const Cursor& c, Instant now) const;

  SinkSettings settings_;
  std::vector<Peer> peers_;
  std::optional<Cursor> lowest_want_;  // of the peers; the mark is that, moved over empty windows
  std::optional<Cursor> mark_;
  Shelf shelf_;
  LineView line_;
  SinkState state_ = SinkState::kWaiting;
  std::optional<Exit> exit_;
  SinkCounters counters_;
  std::vector<SinkOutput> outputs_;
  Instant started_;
  Instant reported_{};
  Instant released_at_{};
  std::uint64_t seq_ = 0;
};

}  // namespace packline

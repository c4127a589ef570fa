#pragma once

#include <cstdint>
#include <deque>
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

namespace packline {

struct SubscriberSettings {
  std::uint32_t dp_rank = 0;
  std::uint32_t dp_size = 1;
  std::uint32_t peer = 0;  // which of the ranks that share the sink
  TrainerSession session;
  std::uint32_t room = 4;       // packs held here, at most
  std::string endpoint;         // of the sink, for sentences
  std::optional<Cursor> begin;  // none: the job's start, as the Welcome tells it
  std::uint64_t job = 0;        // fingerprint that `begin` belongs to; 0: any
  DeliveryTimes times;          // warn_after and fail_after are replaced by those of the Welcome
};

// clang-format off
// ASKING ──(Welcome)──► RECEIVING ──(finish)──► CLOSING ──(released, or after "close")──► DONE
//    └───────────────────────┴──(Error to this session, or a wait beyond fail_after)──► DONE, exit not 0
// clang-format on
enum class SubscriberState : std::uint8_t {
  kAsking,     // which job is this?
  kReceiving,  // says what it wants, buffers what comes
  kClosing,    // the last pack was used and the last checkpoint is safe: says done
  kDone,       // exit() says how it ended
};
std::string_view name_of(SubscriberState s);  // asking, receiving, closing, done

// One trainer rank's part of the delivery protocol (docs/delivery.md, rules C1 to C4), as the C++
// null trainer and `packline tail` use it; the Python client does the same.
//
// Invariant: what take() gives is the stream of this rank from `begin` on, each pack once, in
// order; at most `room` packs are buffered. Owner and thread: one loop; no clock and no socket.
class Subscriber {
 public:
  Subscriber(SubscriberSettings settings, Instant now);

  void on_welcome(const Welcome& w, Instant now);
  void on_pack(Pack p, Instant now);
  void on_end(End e, Instant now);
  void on_error(const ErrorMessage& e, Instant now);
  void on_waiting(const Waiting& w, Instant now);
  void on_message(Message m, Instant now);  // any of the five; others are ignored

  // The next pack, or none: none has come yet, or ended(). Counts it as handed out.
  std::optional<Pack> take(Instant now);
  bool ready() const;  // take() would give a pack
  bool ended() const;  // the job's last pack was handed out and its end has come

  // C3: what comes after the last pack handed out; what a checkpoint should keep. None before the
  // Welcome when no `begin` was given.
  const std::optional<Cursor>& cursor() const { return cursor_; }

  // C4: the last pack was used and the last checkpoint is safe. Without it the line does not end.
  void finish(Instant now);

  // Repeats, and ends waits that are too long. Call every 50 to 200 ms.
  void tick(Instant now);
  std::vector<Subscribe> take_outputs();

  SubscriberState state() const { return state_; }
  const std::optional<Exit>& exit() const { return exit_; }
  const std::optional<Welcome>& welcome() const { return welcome_; }
  const Progress& progress() const { return progress_; }  // every epoch (the latest 64)

  // What a take() that gave nothing waits for, as a sentence: "rank 3 has waited 30 s for step
  // 1204: sink 3 misses window 37 ..."; none while packs are ready or nothing was asked for.
  std::optional<Wait> wait(Instant now) const;

 private:
  bool expected(const StreamPoint& from, const TrainerSession& s) const;
  void subscribe(Instant now);
  void pass(const std::vector<EpochTally>& passed);
  Tally& epoch(std::uint64_t e);
  void end(ExitCode code, std::string text);
  std::string waiting_sentence(Instant now) const;

  SubscriberSettings settings_;
  SubscriberState state_ = SubscriberState::kAsking;
  std::optional<Exit> exit_;
  std::optional<Welcome> welcome_;
  std::optional<Cursor> want_;
  std::optional<Cursor> cursor_;
  std::deque<std::variant<Pack, End>> buffer_;  // in the order of the stream
  std::uint32_t packs_buffered_ = 0;
  Progress progress_;
  std::vector<Subscribe> outputs_;
  std::uint64_t seq_ = 0;
  Instant subscribed_{};
  Instant heard_;                        // the sink's last message
  std::optional<Instant> hungry_since_;  // since take() gave nothing
  Instant finish_at_{};
  std::optional<std::pair<std::string, Instant>> told_;  // the sink's last Waiting
};

}  // namespace packline

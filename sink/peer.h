#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "lib/base/instant.h"
#include "lib/wire/messages.h"

namespace packline {

// One of the trainer ranks that share a sink, as the sink knows it: who it is now, what it wants,
// and what is on its way to it.
struct Peer {
  std::string address;
  Instant contact{};  // its last message of any kind; the sink's start before the first
  std::optional<TrainerSession> session;  // none before its first Subscribe with a want
  std::uint64_t seq = 0;
  Instant heard{};  // the present session's last Subscribe
  Cursor want;
  std::uint32_t room = 0;
  bool done = false;
  Progress progress;

  // Sessions that another one has replaced: they never come back. The latest 64.
  std::deque<TrainerSession> replaced;

  // When what follows this point was last sent: (from, whether it is an End).
  std::map<std::pair<StreamPoint, bool>, Instant> sent;
  bool end_sent = false;  // of the job

  std::optional<Instant> starving_since;  // it has room and there is nothing to send
  Instant told_waiting{};

  bool was_replaced(const TrainerSession& s) const;
  // The new session begins with nothing of the old one's.
  void become(const TrainerSession& s);
};

}  // namespace packline

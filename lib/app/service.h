#pragma once

#include <cstdint>
#include <string>

#include "lib/base/instant.h"
#include "lib/base/result.h"
#include "lib/telemetry/log.h"

// What every service has in common.

namespace packline {

// How long a loop sleeps at most: leases end and machines tick at this grain.
constexpr Duration kTurn = std::chrono::milliseconds(50);
// What a role that is told to end may still write of what it has sent.
constexpr Duration kLastWords = std::chrono::milliseconds(500);

// Bytes that were dropped because they are not the message that belongs there.
class BadMessages {
 public:
  explicit BadMessages(log::Limit& limit) : limit_(limit) {}

  // `what`: "report", the kind that belongs there.
  void drop(const char* what, const std::string& peer, const Error& error, Instant now) {
    ++count_;
    log::warning_once(limit_, std::string("bad_") + what, now, "dropped what is no {}, from {}: {}",
                      what, peer, error.text);
  }
  std::uint64_t count() const { return count_; }

 private:
  log::Limit& limit_;
  std::uint64_t count_ = 0;
};

}  // namespace packline

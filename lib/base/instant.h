#pragma once

#include <chrono>
#include <cstdint>

namespace packline {

using Duration = std::chrono::nanoseconds;

// The clock that pure code is told about. It has no now(): only a service reads a real clock
// (lib/transport/clock.h) and passes the instant on, so that a simulation can pass its own.
struct LineClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = Duration;
  using time_point = std::chrono::time_point<LineClock>;
  static constexpr bool is_steady = true;
};

using Instant = LineClock::time_point;

constexpr std::int64_t to_ms(Duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

// For how long, in milliseconds; 0 when `then` is not past.
constexpr std::uint64_t elapsed_ms(Instant then, Instant now) {
  return now > then ? static_cast<std::uint64_t>(to_ms(now - then)) : 0;
}

}  // namespace packline

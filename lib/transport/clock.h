#pragma once

#include <cstdint>

#include "lib/base/instant.h"

namespace packline {

// The steady clock. A service reads it once a turn and passes the instant on.
Instant now();

// The wall clock, in milliseconds since 1970: for sessions and for people, never for an interval.
std::uint64_t wall_ms();

}  // namespace packline

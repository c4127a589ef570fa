#pragma once

#include <cstdint>
#include <string>

namespace packline {

// 16 hex digits: how fingerprints, digests and sessions are written.
std::string hex16(std::uint64_t v);

}  // namespace packline

#include "lib/base/hex16.h"

#include <fmt/format.h>

namespace packline {

std::string hex16(std::uint64_t v) { return fmt::format("{:016x}", v); }

}  // namespace packline

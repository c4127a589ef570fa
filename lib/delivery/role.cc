#include "lib/delivery/role.h"

#include <fmt/format.h>

#include <algorithm>

namespace packline {

std::string in_words_ms(std::uint64_t ms) {
  if (ms < 1000) return fmt::format("{} ms", ms);
  if (ms < 10000 && ms % 1000 >= 100) return fmt::format("{}.{} s", ms / 1000, ms % 1000 / 100);
  return fmt::format("{} s", ms / 1000);
}

std::string in_words(Duration d) {
  return in_words_ms(static_cast<std::uint64_t>(std::max<std::int64_t>(0, to_ms(d))));
}

}  // namespace packline

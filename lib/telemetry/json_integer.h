#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace packline {

// The whole number in `j`. Throws std::out_of_range when it is none or T cannot hold it: get<T>()
// would convert any number, a float beyond T's range with undefined behaviour.
template <class T, class AnyJson>
T json_integer(const AnyJson& j) {
  constexpr auto kLeast = static_cast<std::int64_t>(std::numeric_limits<T>::min());
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  if (j.is_number_unsigned()) {
    const auto n = j.template get<std::uint64_t>();
    if (n <= kMost) return static_cast<T>(n);
  } else if (j.is_number_integer()) {
    const auto n = j.template get<std::int64_t>();
    if (n >= kLeast && (n < 0 || static_cast<std::uint64_t>(n) <= kMost)) return static_cast<T>(n);
  }
  throw std::out_of_range("a number is not whole, or too large or small for its place: " +
                          j.dump());
}

}  // namespace packline

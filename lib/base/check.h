#pragma once

#include <fmt/format.h>

#include <string_view>

namespace packline {

// Prints the sentence to stderr and ends the process with ExitCode::kBug. Never returns.
[[noreturn]] void die_of_bug(const char* file, int line, std::string_view text);

}  // namespace packline

// A promise of the program itself. In release builds too: a broken promise must not become data.
#define PL_CHECK(condition)                                                    \
  do {                                                                         \
    if (!(condition)) [[unlikely]]                                             \
      ::packline::die_of_bug(__FILE__, __LINE__, "check failed: " #condition); \
  } while (false)

// Compares with ==; prints both values. Both must be printable by fmt.
#define PL_CHECK_EQ(a, b)                                                                        \
  do {                                                                                           \
    if (!((a) == (b))) [[unlikely]]                                                              \
      ::packline::die_of_bug(__FILE__, __LINE__,                                                 \
                             fmt::format("check failed: " #a " == " #b ": {} != {}", (a), (b))); \
  } while (false)

#include "lib/base/check.h"

#include <cstdio>
#include <cstdlib>

#include "lib/base/result.h"

namespace packline {

void die_of_bug(const char* file, int line, std::string_view text) {
  fmt::print(stderr, "packline: bug at {}:{}: {}\n", file, line, text);
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(ExitCode::kBug));
}

}  // namespace packline

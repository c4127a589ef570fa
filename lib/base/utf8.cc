#include "lib/base/utf8.h"

#include <cstdint>

namespace packline {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = at(0);
  if (first < 0x80) return 1;
  const std::size_t n = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  // No surrogates, nothing in more bytes than it needs, nothing above U+10FFFF.
  if ((first == 0xE0 && at(1) < 0xA0) || (first == 0xED && at(1) > 0x9F) ||
      (first == 0xF0 && at(1) < 0x90) || (first == 0xF4 && at(1) > 0x8F)) {
    return 0;
  }
  return n;
}

std::string as_utf8(std::string_view text, std::size_t bytes_max) {
  std::string out;
  while (!text.empty()) {
    const std::size_t n = utf8_length(text);
    if (out.size() + (n > 0 ? n : 1) > bytes_max) break;
    if (n > 0)
      out += text.substr(0, n);
    else
      out += '_';
    text.remove_prefix(n > 0 ? n : 1);
  }
  return out;
}

}  // namespace packline

#include "lib/windows/json_text.h"

#include <fmt/format.h>

#include <cstdint>

namespace packline {
namespace {

// The bytes of the valid UTF-8 character at the start of `text`; 0 when there is none (Unicode 15,
// table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto in = [&](std::size_t i, std::uint8_t from, std::uint8_t to) {
    return i < text.size() && byte(i) >= from && byte(i) <= to;
  };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return in(1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const std::uint8_t from = lead == 0xE0 ? 0xA0 : 0x80;
    const std::uint8_t to = lead == 0xED ? 0x9F : 0xBF;
    return in(1, from, to) && in(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const std::uint8_t from = lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t to = lead == 0xF4 ? 0x8F : 0xBF;
    return in(1, from, to) && in(2, 0x80, 0xBF) && in(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

void append_ascii(std::string& out, char c) {
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  } else {
    out += c;
  }
}

}  // namespace

std::string json_text(std::string_view text, std::size_t max) {
  std::string out = "\"";
  std::size_t read = 0;
  while (read < text.size()) {
    const std::size_t size = character_size(text.substr(read));
    if (read + (size > 0 ? size : 1) > max) {
      out += "...";
      break;
    }
    if (size == 1) {
      append_ascii(out, text[read]);
    } else if (size > 1) {
      out += text.substr(read, size);
    } else {
      out += "\xEF\xBF\xBD";
    }
    read += size > 0 ? size : 1;
  }
  out += '"';
  return out;
}

}  // namespace packline

#include "lib/windows/json_text.h"

#include <fmt/format.h>

#include "lib/base/utf8.h"

namespace packline {
namespace {

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
    const std::size_t size = utf8_length(text.substr(read));
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

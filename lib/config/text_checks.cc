#include "lib/config/text_checks.h"

#include <fmt/format.h>

#include <cstdint>

#include "lib/base/utf8.h"

namespace packline {
namespace {

std::string_view line_at(std::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

bool indented_by_tab(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  return line.substr(0, begin).find('\t') != std::string_view::npos;
}

// `path: *.jsonl`, where YAML takes the star for an alias.
bool value_begins_with(std::string_view line, char c) {
  for (const char* before : {": ", "[", ", ", "- "}) {
    const std::size_t at = line.find(fmt::format("{}{}", before, c));
    if (at != std::string_view::npos) return true;
  }
  return line.find_first_not_of(" \t") == line.find(c) && !line.empty() &&
         line.find(c) != std::string_view::npos;
}

bool plain_is_safe(std::string_view text) {
  if (text.empty() || text.front() == '-') return false;
  bool letter = false;
  for (const char c : text) {
    const bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!alpha && !(c >= '0' && c <= '9') && c != '_' && c != '-' && c != '.' && c != '/') {
      return false;
    }
    letter = letter || alpha;
  }
  if (!letter || (text.front() >= '0' && text.front() <= '9')) return false;
  for (const char* word : {"null",  "Null", "NULL", "true", "false", "True", "False", "TRUE",
                           "FALSE", "yes",  "no",   "on",   "off",   "Yes",  "No",    "On",
                           "Off",   ".inf", ".Inf", ".INF", ".nan",  ".NaN", ".NAN"}) {
    if (text == word) return false;
  }
  return true;
}

}  // namespace

std::optional<YamlMistake> check_text(std::string_view text) {
  if (text.size() > kYamlBytesMax) {
    return YamlMistake{0, fmt::format("the job file has {} bytes; at most {} are read. Is this a "
                                      "data file?",
                                      text.size(), kYamlBytesMax)};
  }
  int line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<std::uint8_t>(text[i]);
    if (c == '\n') ++line;
    if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F) {
      return YamlMistake{line, fmt::format("a control character (byte {:#04x}) stands here; a job "
                                           "file is UTF-8 text",
                                           c)};
    }
    const std::size_t n = utf8_length(text.substr(i));
    if (n == 0) {
      return YamlMistake{
          line, fmt::format("byte {:#04x} is no UTF-8 text; save the job file as UTF-8", c)};
    }
    i += n;
  }
  return std::nullopt;
}

namespace {

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = utf8_length(text.substr(i));
    const auto c = static_cast<std::uint8_t>(text[i]);
    const bool plain = n > 0 && c >= 0x20 && c != 0x7F;
    const std::string next = plain ? std::string(text.substr(i, n)) : fmt::format("\\x{:02x}", c);
    if (out.size() + next.size() > bytes_max) return out + "...";
    out += next;
    i += plain ? n : 1;
  }
  return out;
}

}  // namespace

std::string shown(std::string_view text) { return printable(text, 48); }

std::string explain_syntax(std::string_view text, int line, std::string_view said) {
  const std::string_view at = line_at(text, line);
  std::string sentence = fmt::format("this is no YAML: {}", printable(said, 200));
  if (indented_by_tab(at) || said.find("tab") != std::string_view::npos) {
    sentence += "; the line is indented with a tab, YAML takes spaces only";
  } else if (value_begins_with(at, '*')) {
    sentence += "; YAML takes a leading * for an alias, put the pattern in quotes: \"*.jsonl\"";
  } else if (value_begins_with(at, '%') || value_begins_with(at, '@') ||
             value_begins_with(at, '`') || value_begins_with(at, '&')) {
    sentence += "; a value that begins with one of % @ ` & must stand in quotes";
  } else if (at.find(": ") != at.rfind(": ") && at.find('{') == std::string_view::npos) {
    sentence += "; a value that holds \": \" must stand in quotes";
  }
  return sentence;
}

std::string yaml_scalar(std::string_view text) {
  if (plain_is_safe(text)) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<std::uint8_t>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace packline

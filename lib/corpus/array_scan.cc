#include "lib/corpus/array_scan.h"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace packline {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// The bytes that mean something within an element's brackets.
constexpr auto kTelling = [] {
  std::array<bool, 256> telling = {};
  for (const char c : {'{', '}', '[', ']', '"', '\n'})
    telling[static_cast<unsigned char>(c)] = true;
  return telling;
}();

// A byte of the text, for a sentence.
std::string shown_byte(char c) {
  return c > ' ' && c < 0x7F ? fmt::format("'{}'", c)
                             : fmt::format("byte {:#04x}", static_cast<unsigned char>(c));
}

}  // namespace

void ArrayScanner::feed(const char* p, const char* const end) {
  for (; p < end && trouble_.empty(); ++p, ++at_) {
    const char c = *p;
    if (in_ == In::kString) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_ = In::kBrackets;
        if (open_.empty()) close(at_ + 1);
      }
    } else if (in_ == In::kBrackets) {
      const char* q = p;
      while (q < end && !kTelling[static_cast<unsigned char>(*q)]) ++q;
      at_ += static_cast<std::uint64_t>(q - p);
      if (q == end) return;
      p = q;
      bracket(*p);
    } else if (in_ == In::kScalar) {
      if (c == ',' || c == ']' || c == '}' || is_blank(c)) {
        close(at_);
        between(c);
      }
    } else {
      between(c);
    }
    if (*p == '\n') ++line_;
  }
}

void ArrayScanner::bracket(char c) {
  if (c == '"') {
    in_ = In::kString;
  } else if (c == '{' || c == '[') {
    if (open_.size() >= kDepthMax) {
      wrong(line_, fmt::format("more than {} brackets are open in each other", kDepthMax));
    }
    open_ += c;
  } else if (c == '}' || c == ']') {
    if (open_.back() != (c == '}' ? '{' : '[')) {
      wrong(line_, fmt::format("'{}' closes what '{}' opened, in the element that begins in line "
                               "{}",
                               c, open_.back(), start_line_));
    }
    open_.pop_back();
    if (open_.empty()) close(at_ + 1);
  }
}

void ArrayScanner::between(char c) {
  if (is_blank(c)) return;
  switch (in_) {
    case In::kBefore:
      if (c != '[') {
        wrong(line_, fmt::format("the file begins with {}, not with the '[' of an array: set the "
                                 "source's read_as: jsonl if it has one record a line",
                                 shown_byte(c)));
      }
      in_ = In::kFirst;
      return;
    case In::kFirst:
    case In::kNext:
      if (c == ']' && in_ == In::kFirst) {
        in_ = In::kDone;
      } else if (c == ',' || c == ']' || c == '}' || c == ':') {
        wrong(line_, fmt::format("{} stands where an element should begin", shown_byte(c)));
      } else {
        begin(c);
      }
      return;
    case In::kAfter:
      if (c != ',' && c != ']') {
        wrong(line_, fmt::format("{} stands behind an element, where a comma or the array's ']' "
                                 "should be",
                                 shown_byte(c)));
      }
      in_ = c == ',' ? In::kNext : In::kDone;
      return;
    default:
      wrong(line_, fmt::format("{} stands behind the end of the array, which should be all of the "
                               "file",
                               shown_byte(c)));
  }
}

void ArrayScanner::begin(char c) {
  start_ = at_;
  start_line_ = line_;
  open_.clear();
  if (c == '{' || c == '[') {
    open_ = c;
    in_ = In::kBrackets;
  } else {
    in_ = c == '"' ? In::kString : In::kScalar;
  }
}

void ArrayScanner::close(std::uint64_t end) {
  const std::uint64_t length = end - start_;
  if (length > element_max_) {
    wrong(start_line_,
          fmt::format("the element has {} bytes, and at most {} are taken", length, element_max_));
  }
  if (start_line_ > std::numeric_limits<std::uint32_t>::max()) {
    wrong(start_line_, "the file has too many lines: cut it into several files");
  }
  entries.push_back(
      {start_, static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(start_line_)});
  in_ = In::kAfter;
}

void ArrayScanner::finish() {
  switch (in_) {
    case In::kBefore:  // blank: no array, no record
    case In::kDone:
      return;
    case In::kBrackets:
    case In::kString:
    case In::kScalar:
      wrong(start_line_,
            "the file ends within the element that begins here: it was cut, or a quote or a "
            "bracket is missing");
      return;
    default:
      wrong(line_, "the file ends before the array's ']': it was cut");
  }
}

// The first mistake; those behind it are its children.
void ArrayScanner::wrong(std::uint64_t line, const std::string& text) {
  if (trouble_.empty()) trouble_ = fmt::format(":{}: {}", line, text);
}

}  // namespace packline

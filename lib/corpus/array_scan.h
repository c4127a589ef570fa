#pragma once

#include <string>

#include "lib/corpus/record_scan.h"

namespace packline {

// The elements of one JSON array, which is the whole text. Knows strings, escapes and brackets, so
// that it finds where an element ends; whether an element is good JSON is seen when it is parsed.
// Trouble: no array, an element or the array that does not end, brackets that do not match, a comma
// missing or too many, something behind the array.
class ArrayScanner final : public RecordScanner {
 public:
  static constexpr std::size_t kDepthMax = 4096;

  explicit ArrayScanner(std::uint64_t element_max = kRecordBytesMax) : element_max_(element_max) {}

  void skip(std::size_t n) override { at_ = n; }
  void feed(const char* p, const char* end) override;
  void finish() override;
  std::string trouble() const override { return trouble_; }
  std::uint64_t pending() const override { return in_element() ? start_ : at_; }

 private:
  enum class In : std::uint8_t {
    kBefore,    // the array has not begun
    kFirst,     // behind its [
    kNext,      // behind a comma
    kBrackets,  // within an element's { } or [ ]
    kString,    // within a string of an element, or one that is an element
    kScalar,    // within a number or a word that is an element
    kAfter,     // behind an element
    kDone,      // behind the array's ]
  };

  bool in_element() const {
    return in_ == In::kBrackets || in_ == In::kString || in_ == In::kScalar;
  }
  void between(char c);           // outside of elements
  void bracket(char c);           // a bracket of an element
  void begin(char c);             // an element begins
  void close(std::uint64_t end);  // the element ended before this place
  void wrong(std::uint64_t line, const std::string& text);

  const std::uint64_t element_max_;
  In in_ = In::kBefore;
  bool escaped_ = false;     // the string's next byte stands behind a backslash
  std::string open_;         // the brackets that are open, within the element
  std::uint64_t at_ = 0;     // the next byte's place in the text
  std::uint64_t line_ = 1;   // its line
  std::uint64_t start_ = 0;  // of the element
  std::uint64_t start_line_ = 0;
  std::string trouble_;
};

}  // namespace packline

#pragma once

#include "lib/corpus/record_scan.h"

namespace packline {

// One record a line: without its LF and one CR before that. Lines of only spaces, tabs and CR are
// no records. Trouble: a line over `line_max` bytes, more than 2^32 - 1 lines.
class LineScanner final : public RecordScanner {
 public:
  explicit LineScanner(std::uint64_t line_max = kRecordBytesMax) : line_max_(line_max) {}

  void skip(std::size_t n) override { start_ = at_ = n; }
  void feed(const char* p, const char* end) override;
  void finish() override { close_line(at_); }
  std::string trouble() const override;
  std::uint64_t pending() const override { return start_; }

 private:
  void close_line(std::uint64_t end);

  const std::uint64_t line_max_;
  std::uint64_t at_ = 0;     // the next byte's place in the text
  std::uint64_t start_ = 0;  // of the line
  std::uint64_t line_ = 1;
  std::uint64_t too_long_ = 0, too_long_line_ = 0;
  bool blank_ = true;  // the line, so far
  char last_ = 0;      // the last byte of what was fed of the line
};

}  // namespace packline

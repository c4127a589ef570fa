#include "lib/corpus/line_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace packline {
namespace {

constexpr std::uint64_t kLinesMax = std::numeric_limits<std::uint32_t>::max();

bool all_blank(const char* p, const char* end) {
  return std::all_of(p, end, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
}

}  // namespace

void LineScanner::feed(const char* p, const char* const end) {
  auto place = [begin = p, at = at_](const char* q) {
    return at + static_cast<std::uint64_t>(q - begin);
  };
  while (p < end) {
    const auto* lf =
        static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    const char* stop = lf != nullptr ? lf : end;
    if (blank_) blank_ = all_blank(p, stop);
    if (stop > p) last_ = stop[-1];
    if (lf == nullptr) break;
    close_line(place(lf));
    p = lf + 1;
    start_ = place(p);
    ++line_;
  }
  at_ = place(end);
}

std::string LineScanner::trouble() const {
  if (too_long_ > 0) {
    return fmt::format(
        ":{}: the line has {} bytes, and at most {} are taken: JSONL has one "
        "record a line",
        too_long_line_, too_long_, line_max_);
  }
  if (line_ - 1 > kLinesMax) {
    return fmt::format(" has more than {} lines: cut it into several files", kLinesMax);
  }
  return {};
}

void LineScanner::close_line(std::uint64_t end) {
  if (blank_) return;
  blank_ = true;
  const std::uint64_t length = end - start_ - (last_ == '\r' ? 1 : 0);
  if (length > line_max_ && too_long_ == 0) {
    too_long_ = length;
    too_long_line_ = line_;
  }
  entries.push_back(
      {start_, static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(line_)});
}

}  // namespace packline

#include "lib/corpus/line_scan.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

#include "lib/hash/xxh3.h"

namespace packline {
namespace {

// Small enough to stay in a core's own cache between being read and being searched.
constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::size_t kEntriesHeld = 32768;  // before they are written
constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view kBom = "\xEF\xBB\xBF";

bool all_blank(const char* p, const char* end) {
  return std::all_of(p, end, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
}

// Cuts what is fed to it, piece by piece, into lines, and collects an entry for each record. The
// inner loop cannot fail: what is wrong is noted and asked for once a piece.
class LineScanner {
 public:
  explicit LineScanner(std::uint64_t line_max) : line_max_(line_max) {}

  // Leaves out the first bytes of the file.
  void skip(std::size_t n) { start_ = at_ = n; }

  void feed(const char* p, const char* const end) {
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

  // The file ended.
  void finish() { close_line(at_); }

  // What makes the file unusable, as the end of a sentence that begins with its place; or "".
  std::string trouble() const {
    if (too_long_ > 0) {
      return fmt::format(
          ":{}: the line has {} bytes, and at most {} are taken: JSONL has one "
          "record a line",
          too_long_line_, too_long_, line_max_);
    }
    if (line_ - 1 > kMax32) {
      return fmt::format(" has more than {} lines: cut it into several files", kMax32);
    }
    return {};
  }

  std::vector<IndexEntry> entries;  // taken away by the caller

 private:
  void close_line(std::uint64_t end) {
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

  const std::uint64_t line_max_;
  std::uint64_t at_ = 0;     // the next byte's place in the file
  std::uint64_t start_ = 0;  // of the line
  std::uint64_t line_ = 1;
  std::uint64_t too_long_ = 0, too_long_line_ = 0;
  bool blank_ = true;  // the line, so far
  char last_ = 0;      // the last byte of what was fed of the line
};

}  // namespace

Result<Scanned> scan_lines(const Fd& fd, const std::string& file, std::uint64_t size,
                           const Fd& index, const std::string& index_file, std::uint64_t index_at,
                           std::uint64_t line_max) {
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // advice only
  LineScanner scanner(line_max);
  Hasher hash;
  Scanned scanned;
  auto flush = [&]() -> Status {
    const auto bytes = std::as_bytes(std::span(scanner.entries));
    hash.add(bytes);
    auto ok = write_at(index, index_file, index_at + scanned.entries * sizeof(IndexEntry),
                       reinterpret_cast<const char*>(bytes.data()), bytes.size());
    scanned.entries += scanner.entries.size();
    scanner.entries.clear();
    return ok;
  };

  std::vector<char> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kReadBytes, size)));
  for (std::uint64_t at = 0; at < size;) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kReadBytes, size - at));
    const auto got = read_at(fd, file, at, buffer.data(), want);
    if (!got) return tl::unexpected(got.error());
    if (*got < want) {
      return fail(ExitCode::kDataRefused,
                  fmt::format("{} shrank from {} to {} bytes while it was read: start again when "
                              "it is whole",
                              file, size, at + *got));
    }
    const std::string_view piece(buffer.data(), want);
    if (at == 0 && piece.starts_with("\x1F\x8B")) {
      return fail(ExitCode::kDataRefused,
                  fmt::format("{} is compressed by gzip: unpack it first", file));
    }
    const std::size_t skip = at == 0 && piece.starts_with(kBom) ? kBom.size() : 0;
    if (skip > 0) scanner.skip(skip);
    scanner.feed(piece.data() + skip, piece.data() + want);
    at += want;
    if (at == size) scanner.finish();
    if (const std::string trouble = scanner.trouble(); !trouble.empty()) {
      return fail(ExitCode::kDataRefused, file + trouble);
    }
    if (at == size || scanner.entries.size() >= kEntriesHeld) {
      if (auto ok = flush(); !ok) return tl::unexpected(ok.error());
    }
  }
  scanned.hash = hash.value();
  return scanned;
}

}  // namespace packline

#include "lib/corpus/record_scan.h"

#include <fmt/format.h>

#include <string_view>

namespace packline {
namespace {

// Small enough to stay in a core's own cache between being read and being searched.
constexpr std::size_t kScanBytes = std::size_t{256} << 10;
constexpr std::size_t kEntriesHeld = 32768;  // before they are written
constexpr std::string_view kBom = "\xEF\xBB\xBF";

}  // namespace

Status scan_records(ByteStream& in, const StreamFile& file, RecordScanner& scanner,
                    IndexWriter& out, const Say& say) {
  LongWork progress(say);
  std::vector<char> buffer(kScanBytes);
  for (std::uint64_t at = 0;;) {
    const auto got = in.read(buffer.data(), buffer.size());
    if (!got) return tl::unexpected(got.error());
    const std::string_view piece(buffer.data(), *got);
    const bool ends = piece.size() < buffer.size();
    const std::size_t skip = at == 0 && piece.starts_with(kBom) ? kBom.size() : 0;
    if (skip > 0) scanner.skip(skip);
    scanner.feed(piece.data() + skip, piece.data() + piece.size());
    at += piece.size();
    if (ends) scanner.finish();
    if (const std::string trouble = scanner.trouble(); !trouble.empty()) {
      return fail(ExitCode::kDataRefused, file.path + trouble);
    }
    if (ends || scanner.entries.size() >= kEntriesHeld) {
      if (auto ok = out.add(scanner.entries); !ok) return ok;
      scanner.entries.clear();
    }
    const auto said = [&](const char* what, std::int64_t seconds) {
      return fmt::format("{} {}: {} of {}, {} records, {} s", what, file.path,
                         size_text(in.file_bytes_read()), size_text(file.size), out.entries(),
                         seconds);
    };
    if (ends) {
      out.set_bytes(at);
      out.set_restart_points(in.restart_points());
      progress.done([&](std::int64_t s) { return said("indexed", s); });
      return {};
    }
    progress.tick([&](std::int64_t s) { return said("indexes", s); });
  }
}

}  // namespace packline

#include "lib/corpus/line_scan.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cstring>
#include <string>
#include <vector>

#include "lib/hash/xxh3.h"
#include "tests/unit/temp_folder.h"

using namespace packline;
using packline::test::TempFolder;

namespace {

struct Scan {
  TempFolder folder;
  std::string file;
  Result<Scanned> result = Scanned{};
  std::string written;
};

Scan& scan(Scan& s, std::string_view content, std::uint64_t size, std::uint64_t line_max) {
  s.file = s.folder.write("a.jsonl", content);
  const std::string index = s.folder.write("index", "");
  const Fd to(::open(index.c_str(), O_RDWR | O_CLOEXEC));
  s.result = scan_lines(*open_to_read(s.file), s.file, size, to, index, 0, line_max);
  s.written = TempFolder::read(index);
  return s;
}

}  // namespace

TEST_CASE("scan_lines: a line over the limit is an error that names it, one at the limit is not") {
  Scan s;
  scan(s, "{}\n12345\r\n", 10, 5);
  REQUIRE(s.result.has_value());
  CHECK(s.result->entries == 2);
  scan(s, "{}\n123456\n{}", 12, 5);
  REQUIRE_FALSE(s.result.has_value());
  CHECK(s.result.error().code == ExitCode::kDataRefused);
  CHECK(s.result.error().text ==
        s.file + ":2: the line has 6 bytes, and at most 5 are taken: JSONL has one record a line");
  scan(s, "{}\n123456", 9, 5);  // also where the file ends without a newline
  CHECK_FALSE(s.result.has_value());
  CHECK(kLineBytesMax == 4294967295u);
}

TEST_CASE("scan_lines: a file that ends before the size it should have is an error") {
  Scan s;
  scan(s, "{}\n{}\n", 7, kLineBytesMax);
  REQUIRE_FALSE(s.result.has_value());
  CHECK(s.result.error().text.find(s.file + " shrank from 7 to 6 bytes") == 0);
}

TEST_CASE("scan_lines: writes all entries of many lines in order, and says their hash") {
  Scan s;
  std::string content;
  for (int i = 0; i < 100000; ++i) content += "{}\n";
  scan(s, content, content.size(), kLineBytesMax);
  REQUIRE(s.result.has_value());
  REQUIRE(s.result->entries == 100000);
  REQUIRE(s.written.size() == 1600000);
  std::vector<IndexEntry> entries(100000);
  std::memcpy(entries.data(), s.written.data(), s.written.size());
  for (std::uint32_t i = 0; i < 100000; ++i) {
    REQUIRE(entries[i] == IndexEntry{std::uint64_t{3} * i, 2, i + 1});
  }
  CHECK(s.result->hash == xxh3(s.written));
}

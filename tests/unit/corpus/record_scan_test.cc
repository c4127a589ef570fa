#include "lib/corpus/record_scan.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lib/corpus/line_scan.h"
#include "tests/unit/temp_folder.h"

using namespace packline;
using packline::test::TempFolder;

namespace {

struct WrittenScan {
  TempFolder folder;
  std::string file;
  Status result;
  std::uint64_t entries = 0;
  std::string written;
};

void scan_to(WrittenScan& s, std::string_view content, std::uint64_t size) {
  s.file = s.folder.write("a.jsonl", content);
  const std::string path = s.folder.write("index", "");
  const Fd to(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const StreamFile data{std::make_shared<const Fd>(std::move(*open_to_read(s.file))), s.file, size};
  IndexWriter out(to, path);
  LineScanner scanner;
  s.result = scan_records(*open_stream(data, Compression::kNone), data, scanner, out, {});
  s.entries = out.entries();
  s.written = TempFolder::read(path);
}

}  // namespace

TEST_CASE("scan_records: a file that ends before the size it should have is an error") {
  WrittenScan s;
  scan_to(s, "{}\n{}\n", 7);
  REQUIRE_FALSE(s.result.has_value());
  CHECK(s.result.error().text.find(s.file + " shrank from 7 to 6 bytes") == 0);
}

TEST_CASE("scan_records: writes all entries of many lines in order") {
  WrittenScan s;
  std::string content;
  for (int i = 0; i < 100000; ++i) content += "{}\n";
  scan_to(s, content, content.size());
  REQUIRE(s.result.has_value());
  REQUIRE(s.entries == 100000);
  REQUIRE(s.written.size() == kIndexHeaderBytes + 1600000);
  std::vector<IndexEntry> entries(100000);
  std::memcpy(entries.data(), s.written.data() + kIndexHeaderBytes, 1600000);
  for (std::uint32_t i = 0; i < 100000; ++i) {
    REQUIRE(entries[i] == IndexEntry{std::uint64_t{3} * i, 2, i + 1});
  }
}

TEST_CASE("scan_records: what is wrong stands behind the file's name") {
  WrittenScan s;
  s.file = s.folder.write("a", "x");
  class Refuser final : public RecordScanner {
    void skip(std::size_t) override {}
    void feed(const char*, const char*) override {}
    void finish() override {}
    std::string trouble() const override { return ":7: it is wrong"; }
    std::uint64_t pending() const override { return 0; }
  } refuser;
  const std::string path = s.folder.write("index", "");
  const Fd to(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const StreamFile data{std::make_shared<const Fd>(std::move(*open_to_read(s.file))), s.file, 1};
  IndexWriter out(to, path);
  const auto told = scan_records(*open_stream(data, Compression::kNone), data, refuser, out, {});
  REQUIRE_FALSE(told.has_value());
  CHECK(told.error().code == ExitCode::kDataRefused);
  CHECK(told.error().text == s.file + ":7: it is wrong");
}

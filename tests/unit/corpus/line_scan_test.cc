#include "lib/corpus/line_scan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/temp_folder.h"

using namespace packline;

namespace {

struct LineScan {
  std::vector<IndexEntry> entries;
  std::string trouble;
};

// The same whatever the pieces.
LineScan scan_lines(const std::string& text, std::uint64_t line_max = kRecordBytesMax) {
  LineScan first;
  for (const std::size_t step : {text.size() + 1, std::size_t{1}, std::size_t{3}}) {
    LineScanner scanner(line_max);
    for (std::size_t at = 0; at < text.size(); at += step) {
      scanner.feed(text.data() + at, text.data() + std::min(text.size(), at + step));
    }
    scanner.finish();
    if (step > text.size()) {
      first = {scanner.entries, scanner.trouble()};
    } else {
      REQUIRE(scanner.entries == first.entries);
      REQUIRE(scanner.trouble() == first.trouble);
    }
  }
  return first;
}

}  // namespace

TEST_CASE("LineScanner: a line over the limit is an error that names it, one at the limit is not") {
  CHECK(scan_lines("{}\n12345\r\n", 5).entries.size() == 2);
  CHECK(scan_lines("{}\n12345\r\n", 5).trouble == "");
  CHECK(scan_lines("{}\n123456\n{}", 5).trouble ==
        ":2: the line has 6 bytes, and at most 5 are taken: JSONL has one record a line");
  CHECK(scan_lines("{}\n123456", 5).trouble != "");  // also where the file ends without a newline
  CHECK(kRecordBytesMax == 4294967295u);
}

TEST_CASE("LineScanner: gives place, length and line of each record") {
  using Entries = std::vector<IndexEntry>;
  CHECK(scan_lines("{}\n\n \r\n{ }\r\n{}").entries == Entries{{0, 2, 1}, {7, 3, 4}, {12, 2, 5}});
  CHECK(scan_lines("").entries.empty());
  CHECK(scan_lines("\n\r\n\t").entries.empty());
}

TEST_CASE("LineScanner: what is left out at the start is not part of the first record") {
  LineScanner scanner;
  const std::string text = "{}\n{}";
  scanner.skip(3);
  scanner.feed(text.data(), text.data() + text.size());
  scanner.finish();
  CHECK(scanner.entries == std::vector<IndexEntry>{{3, 2, 1}, {6, 2, 2}});
}

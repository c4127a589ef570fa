#include "lib/windows/json_text.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

TEST_CASE("json_text: quotes, backslashes and control characters are escaped") {
  CHECK(json_text("a\"b\\c\n\t\x01\x7F", 100) == R"("a\"b\\c\n\t\u0001\u007f")");
  CHECK(json_text(std::string_view("\0", 1), 100) == R"("\u0000")");
  CHECK(json_text("", 100) == "\"\"");
}

TEST_CASE("json_text: UTF-8 stays, every other byte becomes U+FFFD") {
  CHECK(json_text("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", 100) ==
        "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(json_text("\xFF", 100) == "\"" + bad + "\"");
  CHECK(json_text("\xC0\x80", 100) == "\"" + bad + bad + "\"");                      // overlong
  CHECK(json_text("\xED\xA0\x80", 100) == "\"" + bad + bad + bad + "\"");            // a surrogate
  CHECK(json_text("\xF4\x90\x80\x80", 100) == "\"" + bad + bad + bad + bad + "\"");  // too high
  CHECK(json_text("\xE2\x82", 100) == "\"" + bad + bad + "\"");                      // torn
  CHECK(json_text("\xE2\"", 100) == "\"" + bad + "\\\"\"");
}

TEST_CASE("json_text: a long text is cut between characters") {
  CHECK(json_text("abcdef", 6) == "\"abcdef\"");
  CHECK(json_text("abcdef", 4) == "\"abcd...\"");
  CHECK(json_text("abc\xC3\xA9", 4) == "\"abc...\"");
}

}  // namespace
}  // namespace packline

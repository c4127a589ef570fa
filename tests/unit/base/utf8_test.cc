#include "lib/base/utf8.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

TEST_CASE("UTF-8: a character's bytes, and 0 for what is none") {
  CHECK(utf8_length("") == 0);
  CHECK(utf8_length("ab") == 1);
  CHECK(utf8_length("\u00e9x") == 2);
  CHECK(utf8_length("\u20ac") == 3);
  CHECK(utf8_length("\U0001f600") == 4);
  for (const char* bad : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                          "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xff"}) {
    CHECK(utf8_length(bad) == 0);
  }
}

TEST_CASE("UTF-8: a text is cut between characters, and what is none becomes _") {
  CHECK(as_utf8("abc", 64) == "abc");
  CHECK(as_utf8("ab\u20ac", 5) == "ab\u20ac");
  CHECK(as_utf8("ab\u20ac", 4) == "ab");
  CHECK(as_utf8("a\xff\xc3z", 64) == "a__z");
  CHECK(as_utf8("a\xff\xc3z", 2) == "a_");
}

}  // namespace
}  // namespace packline

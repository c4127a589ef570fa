#include "lib/delivery/role.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

TEST_CASE("Role: durations read as people say them") {
  CHECK(in_words_ms(0) == "0 ms");
  CHECK(in_words_ms(250) == "250 ms");
  CHECK(in_words_ms(1000) == "1 s");
  CHECK(in_words_ms(1549) == "1.5 s");
  CHECK(in_words_ms(12900) == "12 s");
  CHECK(in_words(std::chrono::minutes(10)) == "600 s");
  CHECK(in_words(std::chrono::milliseconds(-5)) == "0 ms");
}

}  // namespace
}  // namespace packline

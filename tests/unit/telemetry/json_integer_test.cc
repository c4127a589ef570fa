#include "lib/telemetry/json_integer.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace packline {
namespace {

using nlohmann::json;

TEST_CASE("json_integer: the ends of a type are whole numbers of it, what lies past them is not") {
  CHECK(json_integer<std::uint64_t>(json::parse("18446744073709551615")) == UINT64_MAX);
  CHECK(json_integer<std::int64_t>(json::parse("-9223372036854775808")) == INT64_MIN);
  CHECK(json_integer<std::int64_t>(json::parse("9223372036854775807")) == INT64_MAX);
  CHECK(json_integer<std::int32_t>(json::parse("-1")) == -1);
  CHECK(json_integer<std::uint32_t>(json::parse("0")) == 0);
  CHECK_THROWS_AS(json_integer<std::int64_t>(json::parse("9223372036854775808")),
                  std::out_of_range);
  CHECK_THROWS_AS(json_integer<std::uint64_t>(json::parse("-1")), std::out_of_range);
  CHECK_THROWS_AS(json_integer<std::int32_t>(json::parse("2147483648")), std::out_of_range);
  CHECK_THROWS_AS(json_integer<std::int32_t>(json::parse("-2147483649")), std::out_of_range);
}

TEST_CASE("json_integer: what is no whole number is refused") {
  for (const char* text :
       {"1e99", "-1e99", "1.5", "18446744073709551616", "\"7\"", "null", "true", "[1]"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(json_integer<std::uint64_t>(json::parse(text)), std::out_of_range);
    CHECK_THROWS_AS(json_integer<int>(json::parse(text)), std::out_of_range);
  }
}

}  // namespace
}  // namespace packline

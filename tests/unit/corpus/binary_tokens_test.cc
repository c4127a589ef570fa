#include "lib/corpus/binary_tokens.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace packline;

namespace {

template <typename T>
std::string bytes_of(const std::vector<T>& ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(T)};
}

template <typename T>
void check_width(RecordForm form) {
  CHECK(token_bytes(form) == sizeof(T));
  const auto least = std::numeric_limits<T>::min();
  const auto most = std::numeric_limits<T>::max();
  const bool fits = most <= std::numeric_limits<std::int32_t>::max();
  std::vector<T> ids;
  std::vector<std::int32_t> expected;
  for (int i = 0; i < 1000; ++i) {
    ids.push_back(static_cast<T>(i * 7919LL % 120));
    expected.push_back(static_cast<std::int32_t>(ids.back()));
  }
  if (fits) {
    ids.push_back(most);
    expected.push_back(static_cast<std::int32_t>(most));
  }
  std::vector<std::int32_t> got(ids.size(), -1);
  // Also from a place that is not aligned.
  const std::string padded = "x" + bytes_of(ids);
  CHECK(read_tokens(std::string_view(padded).substr(1), form, got.data()).empty());
  CHECK(got == expected);
  CHECK(read_tokens("", form, got.data()).empty());

  if constexpr (std::is_signed_v<T>) {
    for (const T bad : {static_cast<T>(-1), least}) {
      ids[700] = bad;
      const std::string wrong = read_tokens(bytes_of(ids), form, got.data());
      CHECK(wrong == "the record holds " + std::to_string(bad) +
                         " at place 700; a token id is 0 to 2147483647");
    }
  }
  if constexpr (sizeof(T) > 1) {
    CHECK_FALSE(read_tokens("xyz", form, got.data()).empty());
  }
}

}  // namespace

TEST_CASE("read_tokens: ids of every width, to both ends of their range") {
  check_width<std::uint8_t>(RecordForm::kU8);
  check_width<std::int8_t>(RecordForm::kI8);
  check_width<std::int16_t>(RecordForm::kI16);
  check_width<std::uint16_t>(RecordForm::kU16);
  check_width<std::int32_t>(RecordForm::kI32);
  check_width<std::int64_t>(RecordForm::kI64);
  CHECK(token_bytes(RecordForm::kJson) == 0);
  CHECK(token_bytes(RecordForm::kText) == 0);
}

TEST_CASE("read_tokens: ids of 64 bits must fit 31") {
  std::int32_t got[2];
  const std::vector<std::int64_t> most = {0, 2147483647};
  CHECK(read_tokens(bytes_of(most), RecordForm::kI64, got).empty());
  CHECK(got[1] == 2147483647);
  for (const std::int64_t bad : {std::int64_t{2147483648}, std::int64_t{1} << 40, INT64_MIN}) {
    const std::vector<std::int64_t> ids = {1, bad};
    CHECK(read_tokens(bytes_of(ids), RecordForm::kI64, got) ==
          "the record holds " + std::to_string(bad) + " at place 1; a token id is 0 to 2147483647");
  }
}

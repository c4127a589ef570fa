#include "lib/hash/xxh3.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace packline {

TEST_CASE("xxh3: published values of XXH3_64bits with seed 0") {
  CHECK(xxh3("") == 0x2D06800538D394C2ULL);
  CHECK(xxh3(std::span<const std::byte>()) == 0x2D06800538D394C2ULL);
  CHECK(xxh3("a") == 0xE6C632B61E964E1FULL);
  CHECK(xxh3("abc") == 0x78AF5F94892F3950ULL);
}

TEST_CASE("Hasher: the hash of the parts is the hash of the whole, however it is cut") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 7 + i / 256);
  for (const std::size_t step : {1, 3, 240, 256, 1024, 4999, 5000}) {
    Hasher hasher;
    for (std::size_t i = 0; i < text.size(); i += step) {
      hasher.add(std::string_view(text).substr(i, step));
    }
    CHECK(hasher.value() == xxh3(text));
    CHECK(hasher.value() == xxh3(text));  // asking changes nothing
    hasher.reset();
    CHECK(hasher.value() == xxh3(""));
  }
}

TEST_CASE("Hasher: numbers count as little-endian bytes of their own width") {
  Hasher hasher;
  hasher.add(std::uint8_t{1});
  hasher.add(std::uint32_t{0x01020304});
  hasher.add(std::uint64_t{5});
  hasher.add(std::int32_t{-100});
  CHECK(hasher.value() == xxh3(std::string("\1\4\3\2\1\5\0\0\0\0\0\0\0\x9C\xFF\xFF\xFF", 17)));
}

}  // namespace packline

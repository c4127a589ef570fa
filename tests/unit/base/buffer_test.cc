#include "lib/base/buffer.h"

#include <doctest/doctest.h>

namespace packline {

TEST_CASE("Buffer: takes a vector without a copy and reads it back") {
  std::vector<std::uint32_t> v{1, 2, 0xFFFFFFFF};
  const void* where = v.data();
  const Buffer b = Buffer::of(std::move(v));
  CHECK(static_cast<const void*>(b.data()) == where);
  CHECK(b.size() == 12);
  CHECK(b.count<std::uint32_t>() == 3);
  CHECK(b.at<std::uint32_t>(2) == 0xFFFFFFFF);
  CHECK(b.bytes().size() == 12);
}

TEST_CASE("Buffer: a part keeps the bytes alive and may be unaligned") {
  Buffer part;
  {
    const Buffer whole = Buffer::of(std::vector<std::uint8_t>{9, 1, 0, 0, 0, 7});
    part = whole.part(1, 4);
  }
  CHECK(part.size() == 4);
  CHECK(part.at<std::uint32_t>(0) == 1);
}

TEST_CASE("Buffer: nothing is empty") {
  CHECK(Buffer{}.empty());
  CHECK(Buffer::of(std::vector<int>{}).empty());
  CHECK(Buffer{}.part(0, 0).empty());
}

}  // namespace packline

#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "lib/base/buffer.h"
#include "lib/base/check.h"

namespace packline {

// Bytes of a known number that are appended once, each, and then become a Buffer. They are not
// zeroed first: that would be a second walk over the memory.
class FreshBytes {
 public:
  explicit FreshBytes(std::size_t size)
      : bytes_(size > 0 ? std::make_shared_for_overwrite<std::byte[]>(size) : nullptr),
        size_(size) {}

  void append(std::span<const std::byte> bytes) {
    PL_CHECK(bytes.size() <= size_ - filled_);
    if (bytes.empty()) return;
    std::memcpy(bytes_.get() + filled_, bytes.data(), bytes.size());
    filled_ += bytes.size();
  }

  Buffer take() && {
    PL_CHECK_EQ(filled_, size_);
    const std::byte* data = bytes_.get();
    return {std::move(bytes_), data, size_};
  }

 private:
  std::shared_ptr<std::byte[]> bytes_;
  std::size_t size_;
  std::size_t filled_ = 0;
};

}  // namespace packline

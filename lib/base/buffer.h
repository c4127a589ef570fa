#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace packline {

// Immutable bytes, shared by reference count: a frame of a message can be kept, cut and sent on
// without a copy. Copying a Buffer is cheap; the bytes live as long as the last Buffer.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<const void> owner, const std::byte* data, std::size_t size)
      : owner_(std::move(owner)), data_(data), size_(size) {}

  // Takes the vector; no copy. T must be trivially copyable.
  template <typename T>
  static Buffer of(std::vector<T> v) {
    static_assert(std::is_trivially_copyable_v<T>);
    auto owner = std::make_shared<const std::vector<T>>(std::move(v));
    const auto* p = reinterpret_cast<const std::byte*>(owner->data());
    const std::size_t n = owner->size() * sizeof(T);
    return {std::move(owner), p, n};
  }

  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // The part [from, from + size); it must lie within.
  Buffer part(std::size_t from, std::size_t size) const { return {owner_, data_ + from, size}; }

  // The i-th T of the bytes, whatever their alignment.
  template <typename T>
  T at(std::size_t i) const {
    T v;
    std::memcpy(&v, data_ + i * sizeof(T), sizeof(T));
    return v;
  }
  template <typename T>
  std::size_t count() const {
    return size_ / sizeof(T);
  }

 private:
  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace packline

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

// The only user of xxHash. 64-bit XXH3, seed 0, for digests, fingerprints and content samples.

namespace packline {

std::uint64_t xxh3(std::span<const std::byte> bytes);
std::uint64_t xxh3(std::string_view text);

// Streaming: the hash of everything added, in order.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void reset();
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  // As little-endian bytes of its own width.
  template <typename T>
    requires std::is_integral_v<T>
  void add(T value) {
    add(std::as_bytes(std::span(&value, 1)));
  }
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace packline

#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

// Everything random in a stream comes from here, so that it is the same with every compiler and
// standard library. The recipes are part of the stream's definition: docs/stream.md section 1.

namespace packline {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

// SplitMix64's step and finalizer (Steele, Lea, Flood 2014).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += kGolden;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// A seed for one purpose: derive(seed, {purpose, epoch, source, ...}).
constexpr std::uint64_t derive(std::uint64_t seed, std::initializer_list<std::uint64_t> parts) {
  std::uint64_t h = mix64(seed);
  for (const std::uint64_t p : parts) h = mix64(h ^ p);
  return h;
}

// What a derived seed is for; the first part given to derive().
enum class Purpose : std::uint64_t {
  kRepeat = 1,       // which records a fractional repeat takes once more
  kSourceOrder = 2,  // shuffle: full
  kBlockOrder = 3,   // shuffle: buffer
  kPackOrder = 4,    // the packs of a window
  kRecord = 5,       // the seed that an encoder gets for a record
  kEvaluation = 6,   // which records are set aside
};

class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    const std::uint64_t r = mix64(state_);
    state_ += kGolden;
    return r;
  }

  // In [0, n); n > 0. The multiply-high method; its bias is below n / 2^64.
  constexpr std::uint64_t below(std::uint64_t n) {
    __extension__ using u128 = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<u128>(next()) * n) >> 64);
  }

 private:
  std::uint64_t state_;
};

// Fisher-Yates from the end.
template <typename Container>
constexpr void shuffle(Container& c, Rng& rng) {
  for (std::uint64_t i = c.size(); i > 1; --i) {
    using std::swap;
    swap(c[i - 1], c[rng.below(i)]);
  }
}

}  // namespace packline

#pragma once

#include <cstdint>

namespace packline {

// A seeded permutation of 0..n-1 that needs no memory: a balanced Feistel network of six rounds
// over the smallest even number of bits that holds n, walked until the value is below n (cycle
// walking, Black and Rogaway 2002). docs/stream.md section 2. n >= 1.
class Permutation {
 public:
  Permutation(std::uint64_t n, std::uint64_t key);
  std::uint64_t operator()(std::uint64_t i) const;

 private:
  static constexpr int kRounds = 6;
  std::uint64_t n_;
  int half_bits_;
  std::uint64_t mask_;
  std::uint64_t round_keys_[kRounds];
};

}  // namespace packline

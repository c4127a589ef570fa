#include "lib/corpus/permutation.h"

#include "lib/base/check.h"
#include "lib/base/random.h"

namespace packline {

Permutation::Permutation(std::uint64_t n, std::uint64_t key) : n_(n), half_bits_(1) {
  PL_CHECK(n >= 1);
  while (half_bits_ < 32 && std::uint64_t{1} << (2 * half_bits_) < n) ++half_bits_;
  mask_ = (std::uint64_t{1} << half_bits_) - 1;
  for (std::uint64_t r = 0; r < kRounds; ++r) round_keys_[r] = derive(key, {r});
}

std::uint64_t Permutation::operator()(std::uint64_t i) const {
  PL_CHECK(i < n_);
  do {
    std::uint64_t left = i >> half_bits_;
    std::uint64_t right = i & mask_;
    for (const std::uint64_t key : round_keys_) {
      const std::uint64_t mixed = left ^ (mix64(key ^ right) & mask_);
      left = right;
      right = mixed;
    }
    i = left << half_bits_ | right;
  } while (i >= n_);
  return i;
}

}  // namespace packline

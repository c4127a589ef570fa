#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace packline {

// A set of the integers 0..max as bits in three levels: a bit of a level says that a word of the
// level below is not 0. insert, erase and at_least touch a few words whatever the set holds (the
// top level, one word for each 262,144 integers, is searched word by word).
class RoomSet {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit RoomSet(std::uint32_t max)
      : low_(max / 64 + 1), mid_(max / 64 / 64 + 1), top_(max / 64 / 64 / 64 + 1) {}

  void insert(std::uint32_t i) {
    low_[i >> 6] |= bit(i);
    mid_[i >> 12] |= bit(i >> 6);
    top_[i >> 18] |= bit(i >> 12);
  }

  void erase(std::uint32_t i) {
    low_[i >> 6] &= ~bit(i);
    if (low_[i >> 6] != 0) return;
    mid_[i >> 12] &= ~bit(i >> 6);
    if (mid_[i >> 12] != 0) return;
    top_[i >> 18] &= ~bit(i >> 12);
  }

  // The least member >= i, or kNone. i <= max.
  std::uint32_t at_least(std::uint32_t i) const {
    std::uint64_t w = low_[i >> 6] >> (i & 63);
    if (w != 0) return i + count_zeros(w);
    i >>= 6;
    w = behind(mid_[i >> 6], i);
    if (w == 0) {
      i >>= 6;
      w = behind(top_[i >> 6], i);
      std::uint32_t t = i >> 6;
      while (w == 0) {
        if (++t == top_.size()) return kNone;
        w = top_[t];
      }
      i = t << 6 | count_zeros(w);
      w = mid_[i];
    } else {
      i >>= 6;
    }
    i = i << 6 | count_zeros(w);
    return i << 6 | count_zeros(low_[i]);
  }

 private:
  static std::uint64_t bit(std::uint32_t i) { return std::uint64_t{1} << (i & 63); }
  // The bits of w above bit i.
  static std::uint64_t behind(std::uint64_t w, std::uint32_t i) {
    return w & (~std::uint64_t{1} << (i & 63));
  }
  static std::uint32_t count_zeros(std::uint64_t w) {
    return static_cast<std::uint32_t>(std::countr_zero(w));
  }

  std::vector<std::uint64_t> low_, mid_, top_;
};

}  // namespace packline

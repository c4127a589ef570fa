#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace packline {

// The free room of bins in the order of opening, as a tree of maxima: the first bin with room
// enough is found in a few steps whatever their number.
class RoomTree {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  void clear() {
    size_ = 0;
    std::fill(most_.begin(), most_.end(), 0U);
  }

  std::uint32_t size() const { return size_; }

  // A further bin; its number.
  std::uint32_t add(std::uint32_t room) {
    if (size_ == leaves_) grow();
    set(size_, room);
    return size_++;
  }

  void set(std::uint32_t bin, std::uint32_t room) {
    std::size_t at = leaves_ + bin;
    most_[at] = room;
    while ((at /= 2) > 0) most_[at] = std::max(most_[2 * at], most_[2 * at + 1]);
  }

  std::uint32_t room(std::uint32_t bin) const { return most_[leaves_ + bin]; }

  // The first bin with at least this room (above 0), or kNone.
  std::uint32_t first(std::uint32_t room) const {
    if (size_ == 0 || most_[1] < room) return kNone;
    std::size_t at = 1;
    while (at < leaves_) at = 2 * at + (most_[2 * at] < room ? 1 : 0);
    return static_cast<std::uint32_t>(at - leaves_);
  }

 private:
  void grow() {
    const std::uint32_t leaves = leaves_ == 0 ? 64 : 2 * leaves_;
    std::vector<std::uint32_t> most(2 * std::size_t{leaves});
    std::copy_n(most_.begin() + leaves_, size_, most.begin() + leaves);
    for (std::size_t at = leaves - 1; at > 0; --at)
      most[at] = std::max(most[2 * at], most[2 * at + 1]);
    most_ = std::move(most);
    leaves_ = leaves;
  }

  std::uint32_t leaves_ = 0;
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> most_;  // [1] the root; the leaves from leaves_ on
};

}  // namespace packline

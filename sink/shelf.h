#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lib/delivery/place.h"
#include "lib/wire/messages.h"

namespace packline {

// The slices that a sink holds: at most `credit` a lane. Of a full lane the highest is given up,
// never the lowest, which is waited for (rule S3).
//
// Windows without packs over which the mark has moved are kept apart ("passed over") without
// counting as held: their ledgers must still be told to every trainer rank that has not come past
// them.
class Shelf {
 public:
  enum class Put : std::uint8_t { kKept, kHad, kFull, kEvicted };

  explicit Shelf(std::uint32_t credit) : credit_(credit) {}

  // kKept, or kEvicted when the lane's highest had to go for it; else nothing changes: kHad (held
  // already), kFull (the lane is full of lower ones).
  Put put(Slice s);

  // Held or passed over; nullptr when neither.
  const Slice* find(const WindowKey& key) const;

  // Nothing when it is not here.
  void drop(const WindowKey& key);

  // The mark moves over this window, which has no packs. Nothing when it was passed over already.
  void pass_over(const WindowKey& key);

  // After the mark moved, forwards or back: drops what is held below it, and forgets what was
  // passed over but lies at or above it now, or below what every trainer rank wants.
  void settle(const std::vector<Place>& mark, const std::vector<Place>& lowest_want);

  std::vector<WindowKey> keys() const;  // held, ascending
  std::size_t size() const { return held_.size(); }
  std::size_t size_of(std::uint32_t lane) const;

 private:
  std::uint32_t credit_;
  std::map<WindowKey, Slice> held_;
  std::map<WindowKey, Slice> passed_;
};

}  // namespace packline

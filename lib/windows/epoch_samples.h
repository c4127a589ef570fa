#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/corpus/order.h"
#include "lib/windows/sample_lengths.h"

namespace packline {

// The samples of an epoch that are planned, in its order, by number: which place of the order and
// which sample of its record each is. Memory: a quarter of a byte a place.
class EpochSamples {
 public:
  EpochSamples(const SampleLengths& lengths, std::shared_ptr<const EpochOrder> order);

  std::uint64_t size() const { return size_; }
  const std::shared_ptr<const EpochOrder>& order() const { return order_; }

  struct Sample {
    std::uint64_t place = 0;   // in the order
    std::uint32_t sample = 0;  // of its record
  };
  Sample at(std::uint64_t number) const;
  // The number of the first one that stands at this place or behind it.
  std::uint64_t first_of(std::uint64_t place) const;

  // Calls each(tokens, media) for all of them, in order.
  template <typename Each>
  void for_each(Each each) const {
    for (std::uint64_t place = 0; place < order_->size(); ++place)
      for (const auto& length : at_place(place))
        if (length.tokens() > 0) each(length.tokens(), length.media());
  }

  std::span<const SampleLengths::Length> at_place(std::uint64_t place) const {
    const RecordRef ref = order_->at(place);
    return lengths_->of(ref.source, ref.record);
  }

 private:
  static constexpr std::uint64_t kBlock = 16;  // places

  const SampleLengths* lengths_;
  std::shared_ptr<const EpochOrder> order_;
  std::uint64_t size_ = 0;
  std::vector<std::uint32_t> before_;  // how many there are before each block
};

}  // namespace packline

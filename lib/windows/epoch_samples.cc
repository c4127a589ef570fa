#include "lib/windows/epoch_samples.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"

namespace packline {
namespace {

std::uint64_t packed(std::span<const SampleLengths::Length> lengths) {
  return static_cast<std::uint64_t>(
      std::count_if(lengths.begin(), lengths.end(), [](const auto& l) { return l.tokens() > 0; }));
}

}  // namespace

EpochSamples::EpochSamples(const SampleLengths& lengths, std::shared_ptr<const EpochOrder> order)
    : lengths_(&lengths), order_(std::move(order)) {
  before_.reserve(order_->size() / kBlock + 1);
  for (std::uint64_t place = 0; place < order_->size(); ++place) {
    if (place % kBlock == 0) before_.push_back(static_cast<std::uint32_t>(size_));
    size_ += packed(at_place(place));
    PL_CHECK(size_ < UINT32_MAX);
  }
}

std::uint64_t EpochSamples::first_of(std::uint64_t place) const {
  if (place >= order_->size()) return size_;
  std::uint64_t number = before_[place / kBlock];
  for (std::uint64_t p = place / kBlock * kBlock; p < place; ++p) number += packed(at_place(p));
  return number;
}

EpochSamples::Sample EpochSamples::at(std::uint64_t number) const {
  PL_CHECK(number < size_);
  const auto block = std::upper_bound(before_.begin(), before_.end(), number) - before_.begin() - 1;
  std::uint64_t left = number - before_[static_cast<std::size_t>(block)];
  for (std::uint64_t place = static_cast<std::uint64_t>(block) * kBlock;; ++place) {
    const auto lengths = at_place(place);
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i].tokens() == 0) continue;
      if (left-- == 0) return {place, i};
    }
  }
}

}  // namespace packline

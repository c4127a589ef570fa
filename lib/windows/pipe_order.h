#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "lib/base/result.h"
#include "lib/corpus/order.h"
#include "lib/corpus/pipe_source.h"

namespace packline {

// The order of a pipe's records, which is a file's as far as it is known: a place is settled once
// its record came, or all records of its block of shuffle.size, or the pipe's end. And how far the
// order can be gone back in: `windows_kept` windows from the last that was made.
//
// Of a job whose one source is the pipe, in one lane, one epoch. One thread at a time.
class PipeOrder {
 public:
  PipeOrder(PipeSource& pipe, ShuffleSettings shuffle, std::uint64_t seed,
            std::uint64_t windows_kept);

  enum class Settled : std::uint8_t { kYes, kNotYet, kEnd };
  // Whether at() knows the record at a place; kEnd: the order has no such place. Where `wait` says
  // so it waits for it, else it takes what is there. Errors: PipeSource::reach().
  Result<Settled> settle(std::uint64_t place, bool wait);

  // Until the pipe's end is known it has kUnknown places; those that are settled stay as they are.
  static constexpr std::uint64_t kUnknown = std::uint64_t{1} << 62;
  const std::shared_ptr<const EpochOrder>& order() const { return order_; }

  // Error (kDataRefused): what the lane's position names is not kept, or did not come yet.
  Status check(const std::string& position) const;
  // Window `index` was made, from the position `before` on.
  void made(std::uint64_t index, const std::string& before);

 private:
  std::uint64_t block_begin(std::uint64_t place) const { return place / block_ * block_; }
  std::shared_ptr<const EpochOrder> order_of(std::uint64_t records) const;

  PipeSource& pipe_;
  const ShuffleSettings shuffle_;
  const std::uint64_t seed_, block_;
  const std::uint64_t windows_kept_;
  std::shared_ptr<const EpochOrder> order_;
  bool whole_ = false;                             // the end is known
  std::map<std::uint64_t, std::uint64_t> lowest_;  // place that a window made needs, by its index
};

}  // namespace packline

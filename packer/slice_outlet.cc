#include "packer/slice_outlet.h"

namespace packline {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 1s;

}  // namespace

bool SliceOutlet::send(std::vector<Buffer> frames, Instant now) {
  used_ = now;
  if (queue_.empty() && socket_.send(frames) == Sent::kSent) {
    blocked_since_.reset();
    return true;
  }
  if (!blocked_since_) blocked_since_ = now;
  if (now - *blocked_since_ > kPatience) return false;
  queue_.push_back(std::move(frames));
  return true;
}

bool SliceOutlet::congested(Instant now) const {
  return waiting() && now - *blocked_since_ <= kPatience;
}

std::uint64_t SliceOutlet::flush(Instant now) {
  while (!queue_.empty() && socket_.send(queue_.front()) == Sent::kSent) {
    queue_.pop_front();
    blocked_since_ = queue_.empty() ? std::nullopt : std::optional(now);
  }
  if (queue_.empty() || !blocked_since_ || now - *blocked_since_ <= kPatience) return 0;
  const std::uint64_t dropped = queue_.size();
  queue_.clear();
  return dropped;
}

}  // namespace packline

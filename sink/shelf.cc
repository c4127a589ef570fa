#include "sink/shelf.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace packline {
namespace {

bool below(const WindowKey& key, const std::vector<Place>& lanes) {
  const Place& p = lanes[key.lane];
  return std::tie(key.epoch, key.index) < std::tie(p.epoch, p.index);
}

}  // namespace

std::size_t Shelf::size_of(std::uint32_t lane) const {
  const auto from = held_.lower_bound({lane, 0, 0});
  const auto to = held_.lower_bound({lane + 1, 0, 0});
  return static_cast<std::size_t>(std::distance(from, to));
}

Shelf::Put Shelf::put(Slice s) {
  const WindowKey key = s.key;
  if (held_.contains(key)) return Put::kHad;
  Put result = Put::kKept;
  if (size_of(key.lane) >= credit_) {
    const auto top = std::prev(held_.lower_bound({key.lane + 1, 0, 0}));
    if (top->first < key) return Put::kFull;
    held_.erase(top);
    result = Put::kEvicted;
  }
  held_.emplace(key, std::move(s));
  return result;
}

const Slice* Shelf::find(const WindowKey& key) const {
  if (const auto it = held_.find(key); it != held_.end()) return &it->second;
  const auto it = passed_.find(key);
  return it == passed_.end() ? nullptr : &it->second;
}

void Shelf::drop(const WindowKey& key) {
  held_.erase(key);
  passed_.erase(key);
}

void Shelf::pass_over(const WindowKey& key) {
  auto node = held_.extract(key);
  if (!node.empty()) passed_.insert(std::move(node));
}

void Shelf::settle(const std::vector<Place>& mark, const std::vector<Place>& lowest_want) {
  std::erase_if(held_, [&](const auto& s) { return below(s.first, mark); });
  std::erase_if(
      passed_, [&](const auto& s) { return !below(s.first, mark) || below(s.first, lowest_want); });
}

std::vector<WindowKey> Shelf::keys() const {
  std::vector<WindowKey> keys;
  keys.reserve(held_.size());
  for (const auto& [key, slice] : held_) keys.push_back(key);
  return keys;
}

}  // namespace packline

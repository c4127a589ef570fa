#include "lib/corpus/order.h"

#include <algorithm>
#include <cmath>

#include "lib/base/check.h"
#include "lib/base/random.h"

namespace packline {
namespace {

__extension__ using u128 = unsigned __int128;

// a * b / c, exactly.
std::uint64_t ratio(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product / c;
  return static_cast<std::uint64_t>(static_cast<u128>(a) * b / c);
}

std::uint64_t key(std::uint64_t seed, Purpose purpose, std::uint64_t epoch, std::uint64_t source) {
  return derive(seed, {static_cast<std::uint64_t>(purpose), epoch, source});
}

}  // namespace

EpochOrder::EpochOrder(const std::vector<SourceShare>& shares, ShuffleSettings shuffle,
                       std::uint64_t seed, std::uint64_t epoch)
    : shuffle_(shuffle), seed_(seed), epoch_(epoch) {
  PL_CHECK(shuffle.kind != ShuffleKind::kBuffer || shuffle.size > 0);
  std::vector<std::uint64_t> places;
  for (std::uint64_t s = 0; s < shares.size(); ++s) {
    const SourceShare& share = shares[s];
    PL_CHECK(share.repeat >= 0 && share.repeat < 1e9);
    const double whole = std::floor(share.repeat);
    const double extra =
        std::floor((share.repeat - whole) * static_cast<double>(share.records) + 0.5);
    const auto copies = static_cast<std::uint64_t>(whole);
    const std::uint64_t n = copies * share.records + static_cast<std::uint64_t>(extra);
    places.push_back(n);
    sources_.push_back(
        {share.records, copies, n,
         Permutation(std::max<std::uint64_t>(1, share.records),
                     key(seed, Purpose::kRepeat, epoch, s)),
         Permutation(std::max<std::uint64_t>(1, n), key(seed, Purpose::kSourceOrder, epoch, s))});
  }
  if (!shares.empty() && shares[0].weight > 0) {
    make_weighted_phases(shares);
  } else {
    add_phase(std::move(places));
  }
}

void EpochOrder::add_phase(std::vector<std::uint64_t> count) {
  Phase phase;
  phase.begin = phase.end = size_;
  phase.first.resize(count.size());
  for (std::size_t s = 0; s < count.size(); ++s) {
    phase.end += count[s];
    if (!phases_.empty()) phase.first[s] = phases_.back().first[s] + phases_.back().count[s];
  }
  phase.count = std::move(count);
  size_ = phase.end;
  phases_.push_back(std::move(phase));
}

// Each phase uses up at least one source, so there are at most as many phases as sources.
void EpochOrder::make_weighted_phases(const std::vector<SourceShare>& shares) {
  std::vector<std::uint64_t> left, weight;
  for (std::size_t s = 0; s < shares.size(); ++s) {
    PL_CHECK(shares[s].weight > 0 && shares[s].weight < 1e12);
    left.push_back(sources_[s].places);
    weight.push_back(std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::floor(shares[s].weight * 1000000 + 0.5))));
  }
  for (;;) {
    std::size_t least = left.size();  // the source that its weight uses up first
    for (std::size_t s = 0; s < left.size(); ++s) {
      if (left[s] == 0) continue;
      if (least == left.size() ||
          static_cast<u128>(left[s]) * weight[least] < static_cast<u128>(left[least]) * weight[s]) {
        least = s;
      }
    }
    if (least == left.size()) return;
    std::vector<std::uint64_t> count(left.size());
    for (std::size_t s = 0; s < left.size(); ++s) {
      count[s] = std::min(left[s], ratio(left[least], weight[s], weight[least]));
    }
    count[least] = left[least];
    for (std::size_t s = 0; s < left.size(); ++s) left[s] -= count[s];
    add_phase(std::move(count));
  }
}

RecordRef EpochOrder::element(std::uint32_t s, std::uint64_t j) const {
  const Source& source = sources_[s];
  const std::uint64_t wholes = source.whole * source.records;
  if (j < wholes) {
    return {s, static_cast<std::uint32_t>(j / source.records), j % source.records};
  }
  return {s, static_cast<std::uint32_t>(source.whole), source.extra(j - wholes)};
}

RecordRef EpochOrder::ordered(std::uint32_t s, std::uint64_t j) const {
  switch (shuffle_.kind) {
    case ShuffleKind::kFull:
      return element(s, sources_[s].all(j));
    case ShuffleKind::kBuffer: {
      const std::uint64_t block = j / shuffle_.size;
      const std::uint64_t first = block * shuffle_.size;
      const Permutation in_block(
          std::min(shuffle_.size, sources_[s].places - first),
          derive(seed_, {static_cast<std::uint64_t>(Purpose::kBlockOrder), epoch_, s, block}));
      return element(s, first + in_block(j - first));
    }
    case ShuffleKind::kNone:
      break;
  }
  return element(s, j);
}

RecordRef EpochOrder::at(std::uint64_t i) const {
  PL_CHECK(i < size_);
  const auto phase =
      std::upper_bound(phases_.begin(), phases_.end(), i,
                       [](std::uint64_t place, const Phase& p) { return place < p.end; });
  std::uint64_t pos = i - phase->begin;
  std::uint64_t length = phase->end - phase->begin;
  for (std::uint32_t s = 0;; ++s) {
    const std::uint64_t n = phase->count[s];
    if (n == 0) continue;
    if (n == length) return ordered(s, phase->first[s] + pos);  // the last one has all the rest
    const std::uint64_t before = ratio(pos, n, length);
    if (ratio(pos + 1, n, length) > before) return ordered(s, phase->first[s] + before);
    pos -= before;
    length -= n;
  }
}

std::uint64_t EpochOrder::lane_size(std::uint32_t lane, std::uint32_t lanes) const {
  PL_CHECK(lane < lanes);
  return size_ / lanes + (lane < size_ % lanes ? 1 : 0);
}

}  // namespace packline

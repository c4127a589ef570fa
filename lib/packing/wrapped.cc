#include "lib/packing/wrapped.h"

#include <algorithm>

#include "lib/packing/open_window.h"

namespace packline {
namespace {

// Walks over the candidates' tokens.
class Stream {
 public:
  explicit Stream(std::span<const Candidate> candidates) : candidates_(candidates) {
    if (!candidates.empty()) at_ = candidates[0].begin;
  }

  // The parts that make up the next `tokens`; fewer where the candidates end.
  std::vector<Placed> take(std::uint64_t tokens) {
    std::vector<Placed> parts;
    while (tokens > 0 && next_ < candidates_.size()) {
      const std::uint32_t left = candidates_[next_].tokens - at_;
      const auto taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, tokens));
      parts.push_back({next_, at_, at_ + taken, 0});
      tokens -= taken;
      at_ += taken;
      if (at_ < candidates_[next_].tokens) break;
      ++next_;
      at_ = next_ < candidates_.size() ? candidates_[next_].begin : 0;
    }
    return parts;
  }

  std::uint32_t candidate() const { return next_; }
  std::uint32_t token() const { return at_; }

 private:
  std::span<const Candidate> candidates_;
  std::uint32_t next_ = 0;
  std::uint32_t at_ = 0;  // in that candidate
};

void append(Closing& c, std::vector<Placed> pack) {
  c.packs.push_back(static_cast<std::uint32_t>(pack.size()));
  c.placed.insert(c.placed.end(), pack.begin(), pack.end());
}

// The first packs once more, from the first again as often as needed.
void repeat(Closing& c, std::uint32_t packs) {
  const std::size_t made = c.packs.size();
  std::vector<std::size_t> begin(made, 0);
  for (std::size_t k = 1; k < made; ++k) begin[k] = begin[k - 1] + c.packs[k - 1];
  for (std::uint32_t i = 0; c.packs.size() < packs; ++i) {
    const std::size_t k = i % made;
    const auto from = c.placed.begin() + static_cast<std::ptrdiff_t>(begin[k]);
    std::vector<Placed> again(from, from + c.packs[k]);
    for (Placed& p : again) p.repetition = i / static_cast<std::uint32_t>(made) + 1;
    append(c, std::move(again));
  }
}

}  // namespace

Closing close_wrapped(const PackSettings& settings, std::span<const Candidate> candidates,
                      bool at_end) {
  const std::uint64_t capacity = settings.capacity;
  std::uint64_t tokens = 0;
  for (const Candidate& c : candidates) tokens += c.tokens - c.begin;
  Closing closing;
  Stream stream(candidates);
  const std::uint64_t window = settings.packs_per_window * capacity;
  closing.last = at_end && tokens <= window;
  if (!closing.last) {
    for (std::uint32_t k = 0; k < settings.packs_per_window; ++k)
      append(closing, stream.take(capacity));
    closing.considered = stream.candidate();
    closing.cut = stream.candidate() < candidates.size() &&
                          stream.token() > candidates[stream.candidate()].begin
                      ? stream.token()
                      : 0;
    return closing;
  }

  closing.considered = static_cast<std::uint32_t>(candidates.size());
  const std::uint32_t multiple = settings.dp_size_multiple;
  const auto packs = static_cast<std::uint32_t>((tokens + capacity - 1) / capacity);
  const std::uint32_t up = rounded_up(packs, multiple);
  if (settings.remainder == Remainder::kSpread && up > packs) {
    for (std::uint64_t k = 0; k < up; ++k)
      append(closing, stream.take((k + 1) * tokens / up - k * tokens / up));
    return closing;
  }
  const std::uint32_t whole =
      settings.remainder == Remainder::kDrop ? packs / multiple * multiple : packs;
  for (std::uint32_t k = 0; k < whole; ++k) append(closing, stream.take(capacity));
  closing.lost = stream.take(UINT64_MAX);
  if (settings.remainder == Remainder::kRepeat) repeat(closing, up);
  return closing;
}

}  // namespace packline

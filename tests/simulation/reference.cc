#include "tests/simulation/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "lib/delivery/digest.h"

namespace packline::simulation {
namespace {

std::uint64_t number(const std::string& position) {
  return position.empty() ? 0 : std::stoull(position);
}

Samples one_token(const std::string& id, std::int32_t token) {
  Samples s;
  s.ids = {id};
  s.lengths = {1};
  Column c;
  c.name = "input_ids";
  c.data = Buffer::of(std::vector<std::int32_t>{token});
  s.columns.push_back(std::move(c));
  return s;
}

}  // namespace

Reference::Reference(Dice& dice) {
  salt_ = dice.bits();
  lanes = dice.of<std::uint32_t>({1, 1, 2, 3, 4});
  epochs = dice.of<std::uint64_t>({1, 2, 2, 3, 4});
  dp_size_multiple = dice.of<std::uint32_t>({2, 4, 4, 12});
  packs_per_window = dp_size_multiple * dice.of<std::uint32_t>({1, 1, 2});
  const std::int64_t big = dice.of<std::int64_t>({0, 3, 6, 12});
  for (std::uint64_t e = 0; e < epochs; ++e) {
    records_.emplace_back();
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      records_.back().push_back(
          static_cast<std::uint64_t>(dice.of<std::int64_t>({0, dice.between(0, big), big})));
  }
  run();
}

JobShape Reference::shape(std::uint32_t dp_size) const {
  return {salt_ | 1, lanes, epochs, dp_size};
}

PackSettings Reference::pack_settings() const {
  PackSettings s;
  s.capacity = 1;
  s.strategy = Strategy::kSequential;
  s.packs_per_window = packs_per_window;
  s.dp_size_multiple = dp_size_multiple;
  return s;
}

Window Reference::make(std::uint32_t lane, const Place& place) const {
  const std::uint64_t at = number(place.position);
  const std::uint64_t all = records_.at(place.epoch)[lane];
  const auto roll = [&](std::uint64_t what) {
    return derive(salt_, {place.epoch, lane, at, what});
  };
  const std::uint64_t to = std::min(all, at + 1 + roll(1) % 4);
  Window w;
  w.key = {lane, place.epoch, place.index};
  w.before = place.position;
  w.after = std::to_string(to);
  w.last = to >= all;
  std::uint32_t packs = packs_per_window;
  // 0 packs: an empty lane, or every sample was lost.
  if (w.last)
    packs = dp_size_multiple *
            static_cast<std::uint32_t>(roll(2) % (packs_per_window / dp_size_multiple + 1));
  w.packs.assign(packs, 1);
  w.ledger.records_read = to - at;
  w.ledger.records_encoded = to - at;
  w.ledger.samples_made = w.ledger.tokens_made = packs;
  std::vector<std::int32_t> tokens;
  for (std::uint32_t k = 0; k < packs; ++k) {
    w.samples.ids.push_back(fmt::format("{}.{}.{}.{}", place.epoch, lane, at, k));
    w.samples.lengths.push_back(1);
    tokens.push_back(static_cast<std::int32_t>(k));
  }
  Column c;
  c.name = "input_ids";
  c.data = Buffer::of(std::move(tokens));
  w.samples.columns.push_back(std::move(c));
  return w;
}

const Window& Reference::window(std::uint32_t lane, const Place& place) const {
  const auto id = std::tuple(lane, place.epoch, place.index, place.position);
  const auto it = made_.find(id);
  if (it != made_.end()) return it->second;
  return made_.emplace(id, make(lane, place)).first->second;
}

bool Reference::on_the_way(std::uint32_t lane, const Place& place) const {
  if (place.index == 0) return place.position.empty() && place.epoch <= epochs;
  const auto it = way_.find({lane, place.epoch, place.index});
  return it != way_.end() && it->second == place.position;
}

// Reads the job in order, one window after the other.
void Reference::run() {
  for (std::uint64_t e = 0; e < epochs; ++e) {
    std::vector<Place> next(lanes, Place{e, 0, ""});
    for (std::uint64_t w = 0;
         std::ranges::any_of(next, [&](const Place& p) { return p.epoch == e; }); ++w) {
      const auto lane = static_cast<std::uint32_t>(w % lanes);
      Place& p = next[lane];
      if (p.epoch != e) continue;
      way_.emplace(WindowKey{lane, p.epoch, p.index}, p.position);
      const Window& made = window(lane, p);
      ++windows_;
      Tally& tally = tallies_[e];
      for (std::uint32_t k = 0; k < made.packs.size(); ++k) {
        const Samples pack = one_token(made.samples.ids[k], static_cast<std::int32_t>(k));
        stream_.push_back({{e, w, k}, pack_digest(e, w, k, pack)});
        tally += Tally{1, 1, 1, stream_.back().digest, {}};
      }
      tally.ledger += made.ledger;
      p = made.last ? Place{e + 1, 0, ""} : Place{e, p.index + 1, made.after};
    }
  }
}

}  // namespace packline::simulation

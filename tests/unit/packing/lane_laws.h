#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/packing/pack_order.h"
#include "tests/unit/packing/random_lane.h"

// What docs/stream.md sections 5.2 to 5.4 promise of the windows of any lane, whatever the
// settings. Each function gives the first broken promise as a sentence, "" for none.

namespace packline::test {

inline std::string pack_counts(const PackSettings& s, const Closing& c) {
  if (!c.last && c.packs.size() != s.packs_per_window) return "a window has other than N packs";
  if (c.packs.size() > s.packs_per_window) return "a last window has more than N packs";
  if (c.packs.size() % s.dp_size_multiple != 0) return "packs that are no multiple of m";
  std::size_t placed = 0;
  for (const std::uint32_t n : c.packs) placed += n;
  if (placed != c.placed.size()) return "the packs' samples are not as many as those placed";
  if (!c.last && placed == 0) return "a window takes nothing";
  return "";
}

inline std::string pack_limits(const PackSettings& s, const Packs& packs) {
  for (const auto& pack : packs) {
    if (s.max_samples > 0 && pack.size() > s.max_samples) return "more than max_samples";
    std::uint64_t tokens = 0;
    for (std::size_t i = 0; i < pack.size(); ++i) {
      if (pack[i].begin >= pack[i].end) return "a part without tokens";
      tokens += size_of(s, {pack[i].end - pack[i].begin});
      if (i > 0 && pack[i - 1].candidate > pack[i].candidate) return "a pack not in lane order";
    }
    if (tokens > s.capacity) return "a pack beyond the capacity";
  }
  return "";
}

// L3: "no rank gets an empty pack while there are samples enough." By kind each kind has packs of
// its own, so there the others' packs may be empty.
inline std::string empty_packs(const PackSettings& s, const Packs& packs, const Lane& lane) {
  std::uint64_t samples = 0, tokens = 0;
  std::size_t empty = 0;
  for (const auto& pack : packs) {
    empty += pack.empty() ? 1 : 0;
    samples += pack.size();
    for (const Placed& p : pack) tokens += p.end - p.begin;
  }
  const std::uint64_t enough = s.strategy == Strategy::kWrapped ? tokens : samples;
  if (!s.same_kind && empty != packs.size() - std::min<std::uint64_t>(packs.size(), enough))
    return "a pack is empty though there are samples enough";
  if (!s.same_kind || std::ranges::any_of(lane, [](const LaneSample& l) { return !l.media; }))
    return "";
  return empty == 0 ? "" : "a media pack is empty";
}

// Which samples may be repeated or lost, and that repetitions are counted from 1.
inline std::string repeated_and_lost(const PackSettings& s, const Closing& c) {
  if (!c.lost.empty() && !(c.last && s.remainder == Remainder::kDrop)) return "a sample is lost";
  std::map<std::pair<std::uint32_t, std::uint32_t>, Lengths> repetitions;
  for (const Placed& p : c.placed) repetitions[{p.candidate, p.begin}].push_back(p.repetition);
  for (auto& [sample, each] : repetitions) {
    std::sort(each.begin(), each.end());
    for (std::uint32_t i = 0; i < each.size(); ++i)
      if (each[i] != i) return "repetitions are not 0, 1, 2, ...";
    const bool may = (c.last && s.remainder == Remainder::kRepeat) || s.same_kind;
    if (each.size() > 1 && !may) return "a sample is repeated";
  }
  return "";
}

struct PackKind {
  std::uint64_t cost = 0;
  bool media = false;
};

inline std::vector<PackKind> kinds_of(const PackSettings& s, const Packs& packs, const Lane& lane) {
  std::vector<PackKind> kinds;
  for (const auto& pack : packs) {
    PackKind& kind = kinds.emplace_back();
    for (const Placed& p : pack) {
      const std::uint64_t tokens = p.end - p.begin;
      kind.cost += s.cost_per_token * tokens + tokens * tokens;
      kind.media |= lane[p.candidate].media;
    }
  }
  return kinds;
}

// Groups of m packs: of one kind with same_kind; with balance neighbours in cost, so that no pack
// of another group of that kind lies between two of one.
inline std::string groups(const PackSettings& s, const Packs& packs, const Lane& lane) {
  const std::vector<PackKind> kinds = kinds_of(s, packs, lane);
  std::vector<std::pair<PackKind, PackKind>> ranges;  // least and most of each group
  for (std::size_t at = 0; at < kinds.size(); at += s.dp_size_multiple) {
    const auto begin = kinds.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + s.dp_size_multiple;
    const bool media = begin->media;
    if (s.same_kind && !std::all_of(begin, end, [&](auto& k) { return k.media == media; }))
      return "a group of packs is of two kinds";
    const auto [least, most] = std::minmax_element(
        begin, end, [](const auto& a, const auto& b) { return a.cost < b.cost; });
    ranges.emplace_back(*least, *most);
  }
  if (s.balance == Balance::kNone || keeps_order(s.strategy)) return "";
  std::sort(ranges.begin(), ranges.end(), [&](const auto& a, const auto& b) {
    if (s.same_kind && a.first.media != b.first.media) return a.first.media;
    return std::pair(a.first.cost, a.second.cost) < std::pair(b.first.cost, b.second.cost);
  });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (s.same_kind && ranges[i - 1].first.media != ranges[i].first.media) continue;
    if (ranges[i - 1].second.cost > ranges[i].first.cost)
      return "a group's costs overlap another's";
  }
  return "";
}

// L4, L5: every sample, or every token, is there once; in order where the strategy keeps it.
inline std::string each_once(const PackSettings& s, const Lane& lane, const LaneRun& run) {
  std::vector<Placed> all;
  for (const LaneWindow& w : run.windows) {
    for (const auto* parts : {&w.closing.placed, &w.closing.lost})
      for (const Placed& p : *parts)
        if (p.repetition == 0) all.push_back(p);
  }
  const auto before = [](const Placed& a, const Placed& b) {
    return std::pair(a.candidate, a.begin) < std::pair(b.candidate, b.begin);
  };
  if (!keeps_order(s.strategy)) {
    std::sort(all.begin(), all.end(), before);
  } else if (!std::is_sorted(all.begin(), all.end(), before)) {
    return "the order is not kept";
  }
  auto next = all.begin();
  for (std::uint32_t i = 0; i < lane.size(); ++i) {
    for (std::uint32_t at = 0; at < lane[i].tokens; at = next++->end) {
      if (next == all.end() || next->candidate != i || next->begin != at)
        return fmt::format("token {} of sample {} is missing", at, i);
      if (s.strategy != Strategy::kWrapped && next->end != lane[i].tokens)
        return fmt::format("sample {} is cut", i);
    }
  }
  return next == all.end() ? "" : fmt::format("sample {} is there twice", next->candidate);
}

inline std::string ages(const PackSettings& s, const LaneRun& run, bool wide) {
  if (!looks_ahead(s.strategy) && run.carried_max > 0) return "samples are carried";
  if (s.same_kind || wide || run.age_max <= s.lookahead_windows_max) return "";
  return fmt::format("a sample has waited for {} windows", run.age_max);
}

inline std::string broken_promise(const RandomLane& lane, const LaneRun& run, bool wide) {
  const PackSettings& s = lane.settings;
  if (!run.ended) return "a window that is not the last takes nothing";
  for (std::size_t w = 0; w < run.windows.size(); ++w) {
    const Closing& c = run.windows[w].closing;
    if (c.last != (w + 1 == run.windows.size())) return "a window behind the last one";
    if (auto t = pack_counts(s, c); !t.empty()) return fmt::format("window {}: {}", w, t);
    const Packs packs = packs_of(c);
    for (const std::string& t : {pack_limits(s, packs), empty_packs(s, packs, lane.samples),
                                 repeated_and_lost(s, c), groups(s, packs, lane.samples)}) {
      if (!t.empty()) return fmt::format("window {}: {}", w, t);
    }
  }
  const std::string once = each_once(s, lane.samples, run);
  return once.empty() ? ages(s, run, wide) : once;
}

}  // namespace packline::test

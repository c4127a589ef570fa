#include "lib/packing/epoch_plan.h"

#include <algorithm>
#include <numeric>

#include "lib/base/check.h"
#include "lib/packing/open_window.h"

namespace packline {
namespace {

struct BinLoad {
  std::uint64_t size = 0;
  std::uint32_t samples = 0;
};

std::vector<BinLoad> bin_loads(const Plan& plan, Sizes sizes) {
  std::vector<BinLoad> loads(plan.bins);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    BinLoad& load = loads[plan.bin_of[i]];
    load.size += sizes[i];
    ++load.samples;
  }
  return loads;
}

// Up to `n` bins that come first by `before`, ascending.
template <typename Before>
std::vector<std::uint32_t> first_by(std::vector<std::uint32_t> bins, std::size_t n, Before before) {
  n = std::min(n, bins.size());
  std::partial_sort(bins.begin(), bins.begin() + static_cast<std::ptrdiff_t>(n), bins.end(),
                    before);
  bins.resize(n);
  std::sort(bins.begin(), bins.end());
  return bins;
}

}  // namespace

// The samples that are planned together.
struct EpochPlan::Kind {
  std::vector<std::uint32_t> samples;  // their numbers; empty: all, in order
  std::vector<std::uint32_t> sizes;

  std::uint32_t number(std::uint32_t i) const { return samples.empty() ? i : samples[i]; }
};

EpochPlan::EpochPlan(const PackSettings& settings, std::span<const std::uint32_t> tokens,
                     const std::vector<bool>& media)
    : settings_(settings) {
  PL_CHECK(tokens.size() < UINT32_MAX);
  const auto size_at = [&](std::size_t i) {
    return rounded_up(tokens[i], settings.sample_multiple_of);
  };
  const bool apart = settings.same_kind && std::ranges::find(media, true) != media.end();
  if (!apart) {
    Kind all;
    all.sizes.resize(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) all.sizes[i] = size_at(i);
    add_kind(all, false);
  } else {
    for (const bool kind_is_media : {true, false}) {
      Kind kind;
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (media[i] != kind_is_media) continue;
        kind.samples.push_back(static_cast<std::uint32_t>(i));
        kind.sizes.push_back(size_at(i));
      }
      if (!kind.samples.empty()) add_kind(kind, kind_is_media);
    }
  }
  std::sort(lost_.begin(), lost_.end());
  add_costs(tokens);
}

// Bins that do not become packs as they are, ascending, and what stands in their places: as many
// bins, and more that are appended; none where they are dropped.
struct EpochPlan::Exceptions {
  std::vector<std::uint32_t> bins;
  Bins instead;
};

// Section 5.3 for all bins of a kind, but that spreading only halves.
EpochPlan::Exceptions EpochPlan::exceptions_of(const Plan& plan, Sizes sizes) const {
  Exceptions found;
  const std::uint32_t multiple = settings_.dp_size_multiple;
  const std::uint32_t up = rounded_up(plan.bins, multiple);
  if (up == plan.bins || settings_.remainder == Remainder::kRepeat) return found;
  const std::vector<BinLoad> loads = bin_loads(plan, sizes);
  std::vector<std::uint32_t> bins(plan.bins);
  std::iota(bins.begin(), bins.end(), 0U);
  if (settings_.remainder == Remainder::kDrop) {
    const auto state = [&](std::uint32_t b) {
      return BinState{loads[b].size, loads[b].samples, b, false, false};
    };
    found.bins = first_by(std::move(bins), plan.bins - (up - multiple),
                          [&](std::uint32_t a, std::uint32_t b) {
                            return preferred(settings_.capacity, state(b), state(a));
                          });
    return found;
  }
  std::erase_if(bins, [&](std::uint32_t b) { return loads[b].samples < 2; });
  found.bins = first_by(std::move(bins), up - plan.bins, [&](std::uint32_t a, std::uint32_t b) {
    return loads[a].size != loads[b].size ? loads[a].size > loads[b].size : a < b;
  });
  std::map<std::uint32_t, std::size_t> at;
  for (const std::uint32_t b : found.bins) at.emplace(b, at.size());
  found.instead.resize(at.size());
  for (std::uint32_t i = 0; i < plan.bin_of.size(); ++i)
    if (const auto bin = at.find(plan.bin_of[i]); bin != at.end())
      found.instead[bin->second].push_back(i);
  const auto target = static_cast<std::uint32_t>(at.size() + up - plan.bins);
  found.instead = halve(sizes, std::move(found.instead), target);
  return found;
}

// Appends the bins of a kind: a counting sort of its samples by their bins.
void EpochPlan::append(const Kind& kind, const Plan& plan, const Exceptions& except) {
  std::vector<bool> apart(plan.bins);
  for (const std::uint32_t b : except.bins) apart[b] = true;
  std::vector<std::uint64_t> at(plan.bins);  // how many it has; then where the next one goes
  for (const std::uint32_t b : plan.bin_of)
    if (!apart[b]) ++at[b];
  std::size_t next = 0;
  std::vector<std::uint64_t> instead_at;
  for (std::uint32_t b = 0; b < plan.bins; ++b) {
    const std::uint64_t begin = begin_.back();
    if (!apart[b]) {
      begin_.push_back(begin + at[b]);
    } else if (!except.instead.empty()) {
      instead_at.push_back(begin);
      begin_.push_back(begin + except.instead[next++].size());
    }
    at[b] = begin;
  }
  for (; next < except.instead.size(); ++next) {
    instead_at.push_back(begin_.back());
    begin_.push_back(begin_.back() + except.instead[next].size());
  }
  samples_.resize(begin_.back());
  for (std::uint32_t i = 0; i < plan.bin_of.size(); ++i) {
    if (!apart[plan.bin_of[i]]) {
      samples_[at[plan.bin_of[i]]++] = kind.number(i);
    } else if (except.instead.empty()) {
      lost_.push_back(kind.number(i));
    }
  }
  for (std::size_t i = 0; i < except.instead.size(); ++i)
    for (const std::uint32_t s : except.instead[i]) samples_[instead_at[i]++] = kind.number(s);
}

void EpochPlan::add_kind(const Kind& kind, bool media) {
  const auto first = static_cast<std::uint32_t>(begin_.size() - 1);
  std::uint32_t bins = 0;
  {
    Planner planner(settings_);
    const Plan plan = planner.plan(kind.sizes);
    bins = plan.bins;
    append(kind, plan, exceptions_of(plan, kind.sizes));
  }
  const auto made = static_cast<std::uint32_t>(begin_.size() - 1 - first);
  if (media) {
    media_packs_ = made;
    const auto n = static_cast<std::uint32_t>(kind.samples.size());
    std::uint32_t next = 0;
    for (std::uint32_t p = first; p < first + made; ++p) {
      if (begin_[p] < begin_[p + 1]) continue;
      more_[p].emplace_back(kind.samples[next % n], next / n + 1);
      ++next;
    }
  }
  const std::uint32_t up = rounded_up(bins, settings_.dp_size_multiple);
  if (settings_.remainder == Remainder::kRepeat)
    for (std::uint32_t i = 0; made + i < up; ++i)
      again_.push_back({first + i % made, i / made + 1});
}

void EpochPlan::add_costs(std::span<const std::uint32_t> tokens) {
  costs_.resize(begin_.size() - 1 + again_.size());
  for (std::uint64_t p = 0; p < costs_.size(); ++p) {
    const Pack all = pack(p);
    for (const std::uint32_t s : all.samples) costs_[p].cost += cost_of(settings_, tokens[s]);
    for (const auto& [s, repetition] : all.more) costs_[p].cost += cost_of(settings_, tokens[s]);
    costs_[p].media = source_of(p) < media_packs_;
  }
}

std::uint64_t EpochPlan::source_of(std::uint64_t p) const {
  const std::uint64_t own = begin_.size() - 1;
  PL_CHECK(p < own + again_.size());
  return p < own ? p : again_[p - own].pack;
}

EpochPlan::Pack EpochPlan::pack(std::uint64_t p) const {
  const std::uint64_t own = begin_.size() - 1;
  const std::uint64_t from = source_of(p);
  Pack found;
  found.repetition = p < own ? 0 : again_[p - own].repetition;
  found.samples = std::span(samples_).subspan(begin_[from], begin_[from + 1] - begin_[from]);
  if (const auto more = more_.find(static_cast<std::uint32_t>(from)); more != more_.end())
    found.more = more->second;
  return found;
}

std::vector<std::uint32_t> EpochPlan::order(std::uint64_t epoch) const {
  return pack_order(settings_, epoch, UINT64_MAX, costs_);
}

}  // namespace packline

#include "lib/windows/epoch_details.h"

#include <algorithm>
#include <charconv>

#include "lib/packing/pack_order.h"

namespace packline {
namespace {

constexpr std::size_t kMaybeCut = 16;
constexpr std::size_t kCauseBytes = 500;

bool has_label(const Samples& pack) {
  const std::vector<std::int32_t> labels = labels_of(pack);
  return std::any_of(labels.begin(), labels.end(), [](std::int32_t l) { return l != kIgnore; });
}

bool any_media(const Samples& pack) {
  for (std::uint32_t i = 0; i < pack.size(); ++i)
    if (is_media(pack, i)) return true;
  return false;
}

bool read_number(std::string_view& text, auto& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

void FillSeries::add(Point window) {
  if (in_last_ == windows_a_point_ || points_.empty()) {
    if (points_.size() == kPoints) {
      for (std::size_t i = 0; i < kPoints / 2; ++i) {
        const Point &a = points_[2 * i], &b = points_[2 * i + 1];
        points_[i] = {a.packs + b.packs, a.tokens + b.tokens};
      }
      points_.resize(kPoints / 2);
      windows_a_point_ *= 2;
    }
    points_.emplace_back();
    in_last_ = 0;
  }
  points_.back().packs += window.packs;
  points_.back().tokens += window.tokens;
  ++in_last_;
}

std::optional<SampleOrigin> origin_of(std::string_view id) {
  // The record's own id, which may hold anything, stands before the last @.
  std::string_view text = id.substr(id.rfind('@') + 1);
  SampleOrigin origin;
  if (!text.starts_with('s')) return {};
  text.remove_prefix(1);
  if (!read_number(text, origin.source) || !text.starts_with(':')) return {};
  text.remove_prefix(1);
  if (!read_number(text, origin.record)) return {};
  return origin;
}

DetailCounter::DetailCounter(const Job& job, std::size_t length_bins, EpochDetails& details)
    : pack_(job.pack),
      lanes_(job.lanes),
      dp_size_(job.deliver.dp_size),
      length_bins_(length_bins),
      details_(details) {
  details_.sources.assign(job.sources.size(), {0, 0, std::vector<std::uint64_t>(length_bins)});
  if (const auto more = with_default_look_ahead(pack_))
    details_.default_look_ahead.emplace(*more, lanes_);
}

void DetailCounter::add(const ClosedWindow& window, const std::vector<Samples>& packs,
                        const std::vector<Loss>& losses) {
  add_packs(window, packs);
  add_samples(window);
  add_losses(losses);
  if (details_.default_look_ahead) try_look_ahead(window);
}

void DetailCounter::add_packs(const ClosedWindow& window, const std::vector<Samples>& packs) {
  std::vector<std::uint64_t> costs(packs.size());
  std::vector<bool> media(packs.size());
  for (std::size_t k = 0; k < packs.size(); ++k) {
    for (const std::uint32_t length : packs[k].lengths) costs[k] += cost_of(pack_, length);
    media[k] = pack_.same_kind && any_media(packs[k]);
    if (!has_label(packs[k])) ++details_.packs_without_labels;
  }
  details_.windows.add({packs.size(), window.samples.tokens()});
  add_steps(costs, dp_size_, details_.balance);
  if (pack_.balance == Balance::kAttention || keeps_order(pack_.strategy)) return;
  const std::uint64_t number = window.key.index * lanes_ + window.key.lane;
  add_steps(balanced_costs(pack_, window.key.epoch, number, costs, media), dp_size_,
            details_.balanced);
}

void DetailCounter::add_samples(const ClosedWindow& window) {
  cuts_ = cuts_ || window.ledger.tokens_truncated > 0;
  for (std::size_t i = 0; i < window.samples.size(); ++i) {
    const std::uint32_t length = window.samples.lengths[i];
    const std::string& id = window.samples.ids[i];
    details_.lengths.add(length);
    if (cuts_ && length == pack_.capacity && details_.maybe_cut.size() < kMaybeCut)
      details_.maybe_cut.push_back(id);
    const std::optional<SampleOrigin> origin = origin_of(id);
    if (!origin || origin->source >= details_.sources.size()) continue;
    SourceCount& source = details_.sources[origin->source];
    ++source.samples;
    source.tokens += length;
    ++source.lengths[(std::uint64_t{length} * length_bins_ - 1) / pack_.capacity];
  }
}

void DetailCounter::add_losses(const std::vector<Loss>& losses) {
  for (const Loss& loss : losses) {
    LossCount& count = details_.losses[loss.reason];
    ++count.count;
    count.tokens += loss.tokens;
    if (loss.reason == name_of(SampleLoss::kOverLong))
      details_.lengths.add(
          static_cast<std::uint32_t>(std::min<std::uint64_t>(loss.tokens, UINT32_MAX)));
    if (count.examples.size() == LossCount::kExamples) continue;
    count.examples.push_back(loss);
    std::string& cause = count.examples.back().cause;
    if (cause.size() > kCauseBytes) cause.resize(kCauseBytes);
  }
}

void DetailCounter::try_look_ahead(const ClosedWindow& window) {
  std::vector<LengthTrial::Sample> samples(window.samples.size());
  for (std::uint32_t i = 0; i < samples.size(); ++i)
    samples[i] = {window.samples.lengths[i], pack_.same_kind && is_media(window.samples, i)};
  details_.default_look_ahead->add(window.key.lane, samples, window.last);
}

}  // namespace packline

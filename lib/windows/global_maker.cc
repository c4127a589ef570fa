#include "lib/windows/global_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <unordered_map>
#include <utility>

#include "lib/base/check.h"
#include "lib/corpus/position.h"
#include "lib/packing/epoch_plan.h"
#include "lib/sample/parts.h"
#include "lib/windows/epoch_samples.h"
#include "lib/windows/record_id.h"
#include "lib/windows/record_policy.h"
#include "lib/windows/sample_lengths.h"

namespace packline {
namespace {

// i * n / d, exact.
std::uint64_t scaled(std::uint64_t i, std::uint64_t n, std::uint64_t d) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(i) * n / d);
}

// A plan of an epoch's samples, and the order of its packs in one epoch.
struct Planned {
  std::uint64_t epoch = 0;
  std::unique_ptr<EpochSamples> samples;
  std::unique_ptr<EpochPlan> plan;
  std::uint64_t ordered_epoch = 0;
  std::vector<std::uint32_t> order;  // of delivery, in ordered_epoch
};

// What a window needs, and what of it is counted there.
struct Wanted {
  struct Sample {
    EpochSamples::Sample at;
    std::uint32_t repetition = 0;
  };
  std::vector<std::uint32_t> packs;    // how many samples each has
  std::vector<Sample> samples;         // pack by pack
  std::vector<std::uint64_t> places;   // to be read, ascending
  std::vector<std::uint64_t> counted;  // places whose record is counted in this window, ascending
};

class GlobalMaker final : public WindowMaker {
 public:
  GlobalMaker(const Job& job, Sources sources, std::unique_ptr<Encoder> encoder,
              SampleLengths lengths)
      : seed_(job.seed),
        epochs_(job.epochs),
        lanes_(job.lanes),
        shuffle_(job.shuffle),
        pack_(job.pack),
        policy_(job),
        selection_(job.selection()),
        sources_(std::move(sources)),
        encoder_(std::move(encoder)),
        lengths_(std::move(lengths)),
        prepared_(job.lanes),
        reading_(sources_, *encoder_, job.encode.threads, job.seed, job.lanes) {}

  Result<ClosedWindow> make(std::uint32_t lane, const Place& place,
                            std::vector<Loss>& losses) override;
  void cancel() override { cancelled_ = true; }
  std::uint64_t records_taken(std::uint64_t limit) const override {
    return count_taken(sources_, selection_, limit);
  }
  std::uint64_t records() const override;
  std::uint64_t records_in(std::uint64_t epoch) const override { return new_order(epoch).size(); }
  std::uint64_t packs_in_every_epoch() override {
    return pack_.replan_each_epoch ? 0 : planned_for(0).plan->packs();
  }

 private:
  // The window that a lane's records are being read for.
  struct Prepared {
    bool ready = false;
    std::uint64_t epoch = 0, index = 0;
    Wanted wanted;
  };

  std::uint64_t plan_epoch(std::uint64_t epoch) const {
    return pack_.replan_each_epoch ? epoch : 0;
  }
  EpochOrder new_order(std::uint64_t epoch) const;
  Planned& planned_for(std::uint64_t epoch);
  std::uint64_t windows(const Planned& p) const;
  Status check_place(const Planned& p, std::uint32_t lane, const Place& place) const;
  Wanted wanted_for(Planned& p, std::uint64_t epoch, std::uint64_t window) const;
  bool counted_with(const Planned& p, const EpochSamples::Sample& s) const;
  bool is_lost(const Planned& p, std::uint64_t number) const;
  void prepare(std::uint32_t lane, std::uint64_t epoch, std::uint64_t index);
  Result<ClosedWindow> make_prepared(Planned& p, std::uint32_t lane, const Place& place,
                                     std::vector<Loss>& losses);
  Result<JudgedRecord> next_record(const Planned& p, std::uint32_t lane);
  void count(const Planned& p, const JudgedRecord& record, ClosedWindow& window,
             std::vector<Loss>& losses) const;

  const std::uint64_t seed_, epochs_;
  const std::uint32_t lanes_;
  const ShuffleSettings shuffle_;
  const PackSettings pack_;
  const RecordPolicy policy_;
  const Selection selection_;
  const Sources sources_;
  const std::unique_ptr<Encoder> encoder_;
  const SampleLengths lengths_;
  std::atomic<bool> cancelled_ = false;
  std::vector<Planned> planned_;    // at most two: lanes are in two epochs at a time
  std::vector<Prepared> prepared_;  // a lane
  ReadAhead reading_;               // last: its threads end before what they use
};

std::uint64_t GlobalMaker::records() const {
  std::uint64_t all = 0;
  for (const auto& source : sources_) all += source->records();
  return all;
}

EpochOrder GlobalMaker::new_order(std::uint64_t epoch) const {
  std::vector<SourceShare> shares;
  for (const auto& source : sources_) {
    shares.push_back({source->records(), source->settings().weight, source->settings().repeat});
  }
  return {std::move(shares), shuffle_, seed_, plan_epoch(epoch)};
}

Planned& GlobalMaker::planned_for(std::uint64_t epoch) {
  const std::uint64_t planned = plan_epoch(epoch);
  auto found = std::ranges::find(planned_, planned, &Planned::epoch);
  if (found == planned_.end()) {
    if (planned_.size() == 2)
      planned_.erase(std::ranges::min_element(planned_, {}, &Planned::epoch));
    Planned p;
    p.epoch = planned;
    p.samples = std::make_unique<EpochSamples>(
        lengths_, std::make_shared<const EpochOrder>(new_order(epoch)));
    std::vector<std::uint32_t> tokens;
    tokens.reserve(p.samples->size());
    std::vector<bool> media;
    p.samples->for_each([&](std::uint32_t n, bool is_media) {
      tokens.push_back(n);
      if (pack_.same_kind) media.push_back(is_media);
    });
    p.plan = std::make_unique<EpochPlan>(pack_, tokens, media);
    p.ordered_epoch = UINT64_MAX;
    planned_.push_back(std::move(p));
    found = std::prev(planned_.end());
  }
  if (found->ordered_epoch != epoch) {
    found->order = found->plan->order(epoch);
    found->ordered_epoch = epoch;
  }
  return *found;
}

std::uint64_t GlobalMaker::windows(const Planned& p) const {
  const std::uint64_t n = pack_.packs_per_window;
  return std::max<std::uint64_t>(lanes_, (p.plan->packs() + n - 1) / n);
}

Status GlobalMaker::check_place(const Planned& p, std::uint32_t lane, const Place& place) const {
  Position expected;
  expected.record = place.index;
  if (place.position == expected.text() &&
      (place.index == 0 || place.index * lanes_ + lane < windows(p)))
    return {};
  return fail(
      ExitCode::kWrongJob,
      fmt::format("lane {}, epoch {}, window {} of the lane: the position \"{}\" is not one "
                  "of this job; go on from a checkpoint that was written with this job and "
                  "these data",
                  lane, place.epoch, place.index, place.position.substr(0, 120)));
}

bool GlobalMaker::is_lost(const Planned& p, std::uint64_t number) const {
  const auto& lost = p.plan->lost();
  return std::binary_search(lost.begin(), lost.end(), number);
}

// Whether no earlier sample of its record is delivered.
bool GlobalMaker::counted_with(const Planned& p, const EpochSamples::Sample& s) const {
  const auto lengths = p.samples->at_place(s.place);
  std::uint64_t number = s.sample == 0 ? 0 : p.samples->first_of(s.place);
  for (std::uint32_t i = 0; i < s.sample; ++i) {
    if (lengths[i].tokens() == 0) continue;
    if (!is_lost(p, number++)) return false;
  }
  return true;
}

Wanted GlobalMaker::wanted_for(Planned& p, std::uint64_t epoch, std::uint64_t window) const {
  PL_CHECK_EQ(p.ordered_epoch, epoch);
  Wanted w;
  const std::uint64_t first = window * pack_.packs_per_window;
  const std::uint64_t end = std::min<std::uint64_t>(first + pack_.packs_per_window, p.order.size());
  for (std::uint64_t k = first; k < end; ++k) {
    const EpochPlan::Pack pack = p.plan->pack(p.order[k]);
    for (const std::uint32_t s : pack.samples)
      w.samples.push_back({p.samples->at(s), pack.repetition});
    for (const auto& [s, repetition] : pack.more)
      w.samples.push_back({p.samples->at(s), repetition});
    w.packs.push_back(static_cast<std::uint32_t>(pack.samples.size() + pack.more.size()));
  }
  for (const Wanted::Sample& s : w.samples) {
    w.places.push_back(s.at.place);
    if (s.repetition == 0 && counted_with(p, s.at)) w.counted.push_back(s.at.place);
  }
  // Records without a sample that is delivered are dealt evenly.
  const std::uint64_t places = p.samples->order()->size();
  const std::uint64_t all = windows(p);
  std::uint64_t place = all == 0 ? 0 : scaled(window, places, all);
  for (; place < places && scaled(place, all, places) <= window; ++place) {
    if (scaled(place, all, places) < window) continue;
    const RecordRef ref = p.samples->order()->at(place);
    if (!selection_.takes(ref.source, ref.record)) continue;
    const auto lengths = p.samples->at_place(place);
    std::uint64_t number = p.plan->lost().empty() ? 0 : p.samples->first_of(place);
    const bool delivered = std::ranges::any_of(
        lengths, [&](const auto& length) { return length.tokens() > 0 && !is_lost(p, number++); });
    if (delivered) continue;
    w.places.push_back(place);
    w.counted.push_back(place);
  }
  for (auto* list : {&w.places, &w.counted}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  return w;
}

void GlobalMaker::prepare(std::uint32_t lane, std::uint64_t epoch, std::uint64_t index) {
  Planned& p = planned_for(epoch);
  Prepared& next = prepared_[lane];
  next = {true, epoch, index, wanted_for(p, epoch, index * lanes_ + lane)};
  reading_.read_places(lane, p.samples->order(), 0, next.wanted.places);
}

// The lane's next record as the job's policies make it; that must be what the plan was made of.
Result<JudgedRecord> GlobalMaker::next_record(const Planned& p, std::uint32_t lane) {
  Result<EncodedRecord> record = reading_.next(lane);
  if (!record) return tl::unexpected<Error>(record.error());
  RecordPlace at{record->number, {}, {}};
  const Source& source = *sources_[record->ref.source];
  if (worth_a_word(policy_, record->encoded)) {
    at.id = record_id(record->ref);
    at.where = source.where(record->ref.record);
  }
  Result<JudgedRecord> judged = judge(policy_, at, std::move(record->encoded));
  if (!judged) return judged;
  const auto now = SampleLengths::lengths_of(judged->samples, judged->packable);
  const auto was = p.samples->at_place(judged->number);
  const bool none =
      was.empty() && std::ranges::all_of(now, [](const auto& l) { return l.word == 0; });
  if (none ||
      std::ranges::equal(now, was, {}, &SampleLengths::Length::word, &SampleLengths::Length::word))
    return judged;
  return fail(ExitCode::kDataRefused,
              fmt::format("{}: the record does not give the samples that were planned: an encoder "
                          "must make the same of a record each time, else set pack.plan: streaming",
                          source.where(record->ref.record)));
}

// The record's ledger, and the samples of it that the remainder's policy drops.
void GlobalMaker::count(const Planned& p, const JudgedRecord& record, ClosedWindow& window,
                        std::vector<Loss>& losses) const {
  window.ledger += record.ledger;
  for (Loss loss : record.losses) {
    loss.window = window.key;
    loss.lane_record = window.key.index;
    losses.push_back(std::move(loss));
  }
  if (p.plan->lost().empty()) return;
  std::uint64_t number = p.samples->first_of(record.number);
  for (const std::uint32_t i : record.packable) {
    if (!is_lost(p, number++)) continue;
    const std::uint32_t tokens = record.samples.lengths[i];
    constexpr auto kRemainder = static_cast<std::size_t>(SampleLoss::kRemainder);
    ++window.ledger.samples_lost[kRemainder];
    window.ledger.tokens_lost[kRemainder] += tokens;
    const RecordRef ref = p.samples->order()->at(record.number);
    Loss loss = remainder_loss(record.samples.ids[i], tokens);
    loss.window = window.key;
    loss.lane_record = window.key.index;
    loss.where = sources_[ref.source]->where(ref.record);
    losses.push_back(std::move(loss));
  }
}

Result<ClosedWindow> GlobalMaker::make_prepared(Planned& p, std::uint32_t lane, const Place& place,
                                                std::vector<Loss>& losses) {
  const Wanted wanted = std::move(prepared_[lane].wanted);
  prepared_[lane].ready = false;
  ClosedWindow window;
  window.key = {lane, place.epoch, place.index};
  window.before = place.position;
  Position after;
  after.record = place.index + 1;
  window.after = after.text();
  window.last = (place.index + 1) * lanes_ + lane >= windows(p);
  window.packs = wanted.packs;

  std::unordered_map<std::uint64_t, Samples> records;
  for (std::size_t i = 0; i < wanted.places.size(); ++i) {
    if (cancelled_) return fail(ExitCode::kTerminated, "reading was cancelled");
    reading_.fill(lane, UINT64_MAX, true);
    Result<JudgedRecord> record = next_record(p, lane);
    if (!record) return tl::unexpected<Error>(record.error());
    PL_CHECK_EQ(record->number, wanted.places[i]);
    if (std::ranges::binary_search(wanted.counted, record->number))
      count(p, *record, window, losses);
    records.emplace(record->number, std::move(record->samples));
  }
  std::vector<Samples> parts;
  parts.reserve(wanted.samples.size());
  for (const Wanted::Sample& s : wanted.samples) {
    const Samples& record = records.at(s.at.place);
    parts.push_back(record.size() == 1 ? record : gather(record, {s.at.sample}));
    if (s.repetition == 0) continue;
    parts.back().ids[0] += fmt::format("*{}", s.repetition);
    ++window.ledger.samples_repeated;
    window.ledger.tokens_repeated += parts.back().lengths[0];
  }
  if (parts.empty()) return window;
  Result<Samples> samples = concatenate(parts);
  if (!samples) return tl::unexpected<Error>(samples.error());
  window.samples = std::move(*samples);
  return window;
}

Result<ClosedWindow> GlobalMaker::make(std::uint32_t lane, const Place& place,
                                       std::vector<Loss>& losses) {
  if (cancelled_) return fail(ExitCode::kTerminated, "reading was cancelled");
  if (lane >= lanes_ || place.epoch >= epochs_) return no_such_lane(lane, place, lanes_, epochs_);
  Planned& p = planned_for(place.epoch);
  if (Status ok = check_place(p, lane, place); !ok) return tl::unexpected<Error>(ok.error());
  const Prepared& ready = prepared_[lane];
  if (!ready.ready || ready.epoch != place.epoch || ready.index != place.index)
    prepare(lane, place.epoch, place.index);
  const std::size_t known = losses.size();
  Result<ClosedWindow> window = make_prepared(p, lane, place, losses);
  if (!window) {
    losses.resize(known);
    reading_.stop(lane);
    return window;
  }
  if (!window->last) {
    prepare(lane, place.epoch, place.index + 1);
    reading_.fill(lane, UINT64_MAX, false);
  }
  return window;
}

}  // namespace

Result<std::unique_ptr<WindowMaker>> make_global_maker(const Job& job, Sources sources,
                                                       std::unique_ptr<Encoder> encoder,
                                                       const Say& say) {
  Result<SampleLengths> lengths = SampleLengths::open(job, sources, *encoder, say);
  if (!lengths) return tl::unexpected<Error>(lengths.error());
  return std::make_unique<GlobalMaker>(job, std::move(sources), std::move(encoder),
                                       std::move(*lengths));
}

}  // namespace packline

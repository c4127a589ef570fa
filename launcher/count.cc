#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "launcher/commands.h"
#include "launcher/own_encoders.h"
#include "launcher/summary.h"
#include "lib/base/hex16.h"
#include "lib/delivery/ledger_check.h"
#include "lib/telemetry/json_dump.h"
#include "lib/telemetry/log.h"
#include "lib/telemetry/progress_json.h"
#include "lib/windows/epoch_advice.h"
#include "lib/windows/epoch_count.h"
#include "lib/windows/window_maker.h"

namespace packline {
namespace {

using Json = nlohmann::ordered_json;

Counts counts_of(const EpochCount& e) {
  Counts c;
  c.packs = e.packs;
  c.samples = e.samples;
  c.tokens = e.tokens;
  c.ledger = e.ledger;
  for (std::uint32_t r = 0; r < e.ranks.size(); ++r) {
    c.packs_by_rank[r] = e.ranks[r].packs;
    c.digest_by_rank[r] = e.ranks[r].digest;
  }
  return c;
}

Json comparison(const EpochCount& e) {
  return {{"best_possible", e.best_fill()},
          {"in_order_greedy", e.next_fit_fill()},
          {"one_sample_a_row", e.one_a_row_fill()}};
}

Json balance_json(const StepBalance& b) {
  return {{"steps", b.steps()},
          {"mean", b.mean()},
          {"worst", b.worst()},
          {"waiting", b.waiting()},
          {"bins", b.bins()}};
}

Json capacity_json(const CapacityFit& f) {
  return {{"capacity", f.capacity},
          {"packs", f.packs},
          {"fill", f.fill()},
          {"best_possible", f.best_fill()},
          {"samples", f.samples},
          {"tokens", f.tokens},
          {"over_long_samples", f.over_long_samples},
          {"tokens_gone", f.tokens_gone}};
}

Json loss_json(const LossCount& loss) {
  Json examples = Json::array();
  for (const Loss& l : loss.examples)
    examples.push_back({{"where", l.where}, {"id", l.id}, {"cause", l.cause}});
  return {{"count", loss.count}, {"tokens", loss.tokens}, {"examples", std::move(examples)}};
}

Json sources_json(const Job& job, const EpochDetails& details) {
  Json out = Json::array();
  for (std::size_t i = 0; i < details.sources.size(); ++i) {
    const SourceCount& s = details.sources[i];
    out.push_back({{"path", job.sources[i].pattern},
                   {"samples", s.samples},
                   {"tokens", s.tokens},
                   {"length_bins", s.lengths}});
  }
  return out;
}

Json advice_json(const Job& job, const EpochCount& e, const Advice& a) {
  Json out = Json::object();
  out["sentences"] = advice_sentences(job, e, a);
  Json capacities = Json::array();
  for (const CapacityFit& f : a.capacities) capacities.push_back(capacity_json(f));
  out["capacities"] = std::move(capacities);
  out["better_capacity"] = a.better ? Json(a.capacities[*a.better].capacity) : Json(nullptr);
  out["look_ahead"] = {
      {"fill", a.fill},
      {"default", a.default_look_ahead ? Json(*a.default_look_ahead) : Json(nullptr)},
      {"at_once", a.at_once}};
  out["balance"] = balance_json(a.balance);
  out["balance_attention"] = a.balanced ? balance_json(*a.balanced) : Json(nullptr);
  out["packs_without_labels"] = e.details.packs_without_labels;
  out["longest"] = e.details.lengths.longest();
  out["sources"] = sources_json(job, e.details);
  Json losses = Json::object();
  for (const auto& [reason, loss] : e.details.losses) losses[reason] = loss_json(loss);
  out["losses"] = std::move(losses);
  if (a.cut) out["cut"] = {{"where", a.cut->where}, {"id", a.cut->id}, {"tokens", a.cut->tokens}};
  return out;
}

Json epoch_json(const Job& job, const EpochCount& e, const Advice& advice,
                const std::vector<EpochWarning>& warnings) {
  Json j = Json::object();
  j["epoch"] = e.epoch;
  j["windows"] = e.windows;
  put_counts(j, job, counts_of(e));
  j["fills"] = comparison(e);
  j["length_bins"] = e.lengths;
  j["fill_bins"] = e.fills;
  j["advice"] = advice_json(job, e, advice);
  j["warnings"] = Json::array();
  for (const EpochWarning& w : warnings)
    j["warnings"].push_back({{"kind", w.kind}, {"text", w.text}});
  return j;
}

std::string epoch_text(const EpochCount& e) {
  return fmt::format(
             "{:>5}  {:>10}  {:>10}  {:>8}  {:>8}  {:>13}  {:>7.2f} %  {:>7.2f} %  {:>7.2f} %  "
             "{:>8}  {}\n",
             e.epoch, e.ledger.records_read, e.samples, e.packs, e.steps(), e.tokens,
             100 * e.fill(), 100 * e.next_fit_fill(), 100 * e.one_a_row_fill(),
             lost_in_all(e.ledger), hex16(e.stream_digest)) +
         loss_lines(counts_of(e));
}

// The first epoch's; those of the others differ by the order of their records alone.
std::string advice_text(const Job& job, const EpochCount& e, const Advice& a) {
  std::string out;
  for (const std::string& sentence : advice_sentences(job, e, a)) out += "  " + sentence + "\n";
  if (out.empty()) return out;
  out = fmt::format("\nepoch {}\n{}\n", e.epoch, out);
  out += fmt::format("  {:>10}  {:>10}  {:>9}  {:>9}  {:>10}  {:>13}\n", "capacity", "packs",
                     "best fit", "at most", "over long", "tokens gone");
  for (const CapacityFit& f : a.capacities)
    out += fmt::format("  {:>10}  {:>10}  {:>7.2f} %  {:>7.2f} %  {:>10}  {:>13}{}\n", f.capacity,
                       f.packs, 100 * f.fill(), 100 * f.best_fill(), f.over_long_samples,
                       f.tokens_gone, f.capacity == e.capacity ? "  the job's" : "");
  return out;
}

// Each kind once, in the first epoch that has it.
class Warned {
 public:
  void add(std::uint64_t epoch, const std::vector<EpochWarning>& warnings) {
    for (const EpochWarning& w : warnings) {
      const auto [at, fresh] = by_kind_.try_emplace(w.kind, all_.size());
      if (fresh) {
        all_.push_back({epoch, w.text, 0});
      } else {
        ++all_[at->second].others;
      }
    }
  }

  std::string text() const {
    std::string out;
    for (const Told& t : all_) {
      const std::string others =
          t.others > 0 ? fmt::format(" (and in {} more epochs)", t.others) : "";
      out += fmt::format("packline: warning: epoch {}: {}{}\n", t.epoch, t.text, others);
    }
    return out;
  }

 private:
  struct Told {
    std::uint64_t epoch = 0;
    std::string text;
    std::uint64_t others = 0;
  };
  std::map<std::string, std::size_t> by_kind_;
  std::vector<Told> all_;
};

}  // namespace

int count_command(const ReportCommand& c) {
  Job job;
  if (!load_or_complain(c.job, job)) return static_cast<int>(ExitCode::kWrongJob);
  if (job.epochs == kContinuous)
    job.epochs = 1;  // every epoch has the same records in another order
  say_pipe(job);
  OwnEncoders encoders(c.job);
  const auto maker =
      open_job(job, [](const std::string& text) { log::info("{}", text); }, encoders.opener());
  if (!maker) return complain(maker.error());
  EpochCounter counter(job, **maker);
  Json epochs = Json::array();
  Counts total;
  Warned warned;
  std::string table =
      fmt::format("{:>5}  {:>10}  {:>10}  {:>8}  {:>8}  {:>13}  {:>9}  {:>9}  {:>9}  {:>8}  {}\n",
                  "epoch", "records", "samples", "packs", "steps", "tokens", "fill", "in order",
                  "one a row", "lost", "digest");
  std::string advice;
  for (std::uint64_t epoch = 0; epoch < job.epochs; ++epoch) {
    const Result<EpochCount> e = counter.count(epoch);
    if (!e) return complain(e.error());
    const Counts counts = counts_of(*e);
    if (Status ok = check_ledger(counts.ledger, counts.samples, counts.tokens); !ok)
      return complain(ok.error());
    total += counts;
    const Advice a = advice_on(job, *e);
    const std::vector<EpochWarning> warnings = warnings_on(job, *e, a);
    warned.add(epoch, warnings);
    if (c.json) {
      epochs.push_back(epoch_json(job, *e, a, warnings));
    } else {
      table += epoch_text(*e);
      if (epoch == 0) advice = advice_text(job, *e, a);
    }
  }
  fmt::print(stderr, "{}", warned.text());
  if (!c.json) {
    fmt::print("{}{}", table, advice);
    return 0;
  }
  Json out = Json::object();
  out["job"] = job.name;
  out["fingerprint"] = hex16(job.fingerprint);
  out["epochs"] = std::move(epochs);
  Json totals = Json::object();
  put_counts(totals, job, total);
  out["totals"] = std::move(totals);
  fmt::print("{}\n", dump_json(out, 2));
  return 0;
}

}  // namespace packline

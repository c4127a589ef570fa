#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "launcher/commands.h"
#include "launcher/summary.h"
#include "lib/base/hex16.h"
#include "lib/delivery/ledger_check.h"
#include "lib/telemetry/json_dump.h"
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

Json epoch_json(const Job& job, const EpochCount& e) {
  Json j = Json::object();
  j["epoch"] = e.epoch;
  j["windows"] = e.windows;
  put_counts(j, job, counts_of(e));
  j["fills"] = comparison(e);
  j["length_bins"] = e.lengths;
  j["fill_bins"] = e.fills;
  return j;
}

std::string epoch_text(const Job& job, const EpochCount& e) {
  return fmt::format(
             "{:>5}  {:>10}  {:>10}  {:>8}  {:>8}  {:>13}  {:>7.2f} %  {:>7.2f} %  {:>7.2f} %  "
             "{:>8}  {}\n",
             e.epoch, e.ledger.records_read, e.samples, e.packs, e.steps(), e.tokens,
             100 * e.fill(), 100 * e.next_fit_fill(), 100 * e.one_a_row_fill(),
             lost_in_all(e.ledger), hex16(e.stream_digest)) +
         loss_lines(counts_of(e)) +
         (job.deliver.packs_per_optimizer_step > 1 &&
                  e.steps() < job.deliver.packs_per_optimizer_step
              ? "       fewer packs than ranks x packs_per_optimizer_step: not one optimizer step\n"
              : "");
}

}  // namespace

int count_command(const ReportCommand& c) {
  Job job;
  if (!load_or_complain(c.job, job)) return static_cast<int>(ExitCode::kWrongJob);
  if (job.epochs == kContinuous)
    job.epochs = 1;  // every epoch has the same records in another order
  const auto maker = open_job(job);
  if (!maker) return complain(maker.error());
  EpochCounter counter(job, **maker);
  Json epochs = Json::array();
  Counts total;
  std::string table =
      fmt::format("{:>5}  {:>10}  {:>10}  {:>8}  {:>8}  {:>13}  {:>9}  {:>9}  {:>9}  {:>8}  {}\n",
                  "epoch", "records", "samples", "packs", "steps", "tokens", "fill", "in order",
                  "one a row", "lost", "digest");
  for (std::uint64_t epoch = 0; epoch < job.epochs; ++epoch) {
    const Result<EpochCount> e = counter.count(epoch);
    if (!e) return complain(e.error());
    const Counts counts = counts_of(*e);
    if (Status ok = check_ledger(counts.ledger, counts.samples, counts.tokens); !ok)
      return complain(ok.error());
    total += counts;
    if (c.json)
      epochs.push_back(epoch_json(job, *e));
    else
      table += epoch_text(job, *e);
  }
  fmt::print(stderr, "{}", loss_warnings(job, total));
  if (!c.json) {
    fmt::print("{}", table);
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

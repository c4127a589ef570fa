#include "launcher/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/hex16.h"
#include "lib/delivery/ledger_check.h"
#include "lib/telemetry/json_dump.h"

namespace packline {
namespace {

using Json = nlohmann::ordered_json;

void add(Counts& to, std::uint32_t rank, const Tally& t) {
  to.packs += t.packs;
  to.samples += t.samples;
  to.tokens += t.tokens;
  to.ledger = t.ledger;  // the same on every rank; check_epochs() holds them against each other
  to.packs_by_rank[rank] += t.packs;
  to.digest_by_rank[rank] += t.digest;
}

std::uint64_t stream_digest(const Counts& c) {
  std::uint64_t sum = 0;
  for (const auto& [rank, d] : c.digest_by_rank) sum += d;
  return sum;
}

std::uint64_t packs_per_rank(const Counts& c) {
  std::uint64_t least = UINT64_MAX;
  for (const auto& [rank, n] : c.packs_by_rank) least = std::min(least, n);
  return c.packs_by_rank.empty() ? 0 : least;
}

double fill(const Job& job, const Counts& c) {
  const double room = static_cast<double>(c.packs) * job.pack.capacity;
  return room > 0 ? static_cast<double>(c.tokens) / room : 0.0;
}

Json lost_json(const Ledger& l) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kRecordLosses; ++i) {
    out[name_of(static_cast<RecordLoss>(i))] = l.records_lost[i];
  }
  for (std::size_t i = 0; i < kSampleLosses; ++i) {
    out[name_of(static_cast<SampleLoss>(i))] = l.samples_lost[i];
  }
  return out;
}

constexpr double kLossThatIsNoAccident = 0.01;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Whether every rank was handed all of this epoch and is past it.
bool whole_epoch(const Job& job, std::uint64_t epoch, const std::vector<RankProgress>& ranks) {
  return ranks.size() == job.deliver.dp_size &&
         std::all_of(ranks.begin(), ranks.end(), [&](const RankProgress& r) {
           const auto& told = r.progress.epochs;
           return r.progress.from <= StreamPoint{epoch, 0, 0} && r.progress.to.epoch > epoch &&
                  std::any_of(told.begin(), told.end(),
                              [&](const EpochTally& e) { return e.epoch == epoch; });
         });
}

const Ledger& ledger_of(const RankProgress& r, std::uint64_t epoch) {
  const auto& told = r.progress.epochs;
  return std::find_if(told.begin(), told.end(),
                      [&](const EpochTally& e) { return e.epoch == epoch; })
      ->tally.ledger;
}

Status check_epoch(const Job& job, const EpochCounts& e, const std::vector<RankProgress>& ranks) {
  for (const RankProgress& r : ranks) {
    if (ledger_of(r, e.epoch) == ledger_of(ranks.front(), e.epoch)) continue;
    return fail(ExitCode::kBug, fmt::format("epoch {}: ranks {} and {} were told different ledgers",
                                            e.epoch, ranks.front().dp_rank, r.dp_rank));
  }
  for (const auto& [rank, n] : e.counts.packs_by_rank) {
    if (n * job.deliver.dp_size == e.counts.packs) continue;
    return fail(ExitCode::kBug, fmt::format("epoch {}: rank {} got {} packs of {} over {} ranks",
                                            e.epoch, rank, n, e.counts.packs, job.deliver.dp_size));
  }
  if (Status ok = check_ledger(e.counts.ledger, e.counts.samples, e.counts.tokens); !ok) {
    return fail(ExitCode::kBug, fmt::format("epoch {}: {}", e.epoch, ok.error().text));
  }
  return {};
}

}  // namespace

Counts& Counts::operator+=(const Counts& o) {
  packs += o.packs;
  samples += o.samples;
  tokens += o.tokens;
  ledger += o.ledger;
  for (const auto& [rank, n] : o.packs_by_rank) packs_by_rank[rank] += n;
  for (const auto& [rank, d] : o.digest_by_rank) digest_by_rank[rank] += d;
  return *this;
}

void put_counts(Json& out, const Job& job, const Counts& c) {
  const std::uint64_t steps = packs_per_rank(c);
  out["records"] = c.ledger.records_read;
  out["samples"] = c.samples;
  out["packs"] = c.packs;
  out["packs_per_rank"] = steps;
  out["steps"] = steps;
  out["optimizer_steps"] = steps / job.deliver.packs_per_optimizer_step;
  out["tokens"] = c.tokens;
  out["fill"] = fill(job, c);
  out["lost"] = lost_json(c.ledger);
  out["repeated"] = c.ledger.samples_repeated;
  out["truncated_tokens"] = c.ledger.tokens_truncated;
  Json digest = Json::object();
  for (const auto& [rank, d] : c.digest_by_rank) digest[std::to_string(rank)] = hex16(d);
  out["digest"] = std::move(digest);
  out["stream_digest"] = hex16(stream_digest(c));
}

std::uint64_t lost_in_all(const Ledger& l) {
  return l.records_lost_in_all() + l.samples_lost_in_all();
}

std::string loss_lines(const Counts& c) {
  std::string out;
  const Json lost = lost_json(c.ledger);
  for (const auto& [reason, n] : lost.items()) {
    if (n.get<std::uint64_t>() > 0) out += fmt::format("       lost: {} {}\n", n.dump(), reason);
  }
  if (c.ledger.tokens_truncated > 0)
    out += fmt::format("       cut: {} tokens\n", c.ledger.tokens_truncated);
  return out;
}

std::string loss_warnings(const Job& job, const Counts& c) {
  const Ledger& l = c.ledger;
  const auto over_long = static_cast<std::size_t>(SampleLoss::kOverLong);
  std::string out;
  const double samples = share(l.samples_lost[over_long], l.samples_made);
  const double tokens = share(l.tokens_lost[over_long], l.tokens_made);
  if (std::max(samples, tokens) > kLossThatIsNoAccident) {
    out += fmt::format(
        "packline: warning: {:.1f} % of the samples ({} of {}), {:.1f} % of the tokens, are longer "
        "than "
        "pack.capacity {} and were dropped; raise it, or set pack.over_long: truncate_right\n",
        100 * samples, l.samples_lost[over_long], l.samples_made, 100 * tokens, job.pack.capacity);
  }
  if (const double cut = share(l.tokens_truncated, l.tokens_made); cut > kLossThatIsNoAccident) {
    out += fmt::format(
        "packline: warning: {:.1f} % of the tokens were cut off samples longer than pack.capacity "
        "{}; "
        "raise it to keep them\n",
        100 * cut, job.pack.capacity);
  }
  const std::uint64_t records = l.records_lost_in_all();
  if (share(records, l.records_read) > kLossThatIsNoAccident) {
    out += fmt::format(
        "packline: warning: {:.1f} % of the records ({} of {}) could not be read or encoded; "
        "`packline "
        "run` writes each with its place and cause to the quarantine\n",
        100 * share(records, l.records_read), records, l.records_read);
  }
  return out;
}

Summary summarise(const Job& job, const std::vector<RankProgress>& ranks) {
  Summary s;
  std::map<std::uint64_t, Counts> epochs;
  s.whole = ranks.size() == job.deliver.dp_size;
  for (const RankProgress& r : ranks) {
    add(s.total, r.dp_rank, r.progress.total);
    for (const EpochTally& e : r.progress.epochs) add(epochs[e.epoch], r.dp_rank, e.tally);
    s.whole = s.whole && r.progress.from == StreamPoint{} && r.progress.to.epoch >= job.epochs;
  }
  for (auto& [epoch, counts] : epochs) s.epochs.push_back({epoch, std::move(counts)});
  return s;
}

Status check_epochs(const Job& job, const std::vector<RankProgress>& ranks) {
  for (const EpochCounts& e : summarise(job, ranks).epochs) {
    if (!whole_epoch(job, e.epoch, ranks)) continue;
    if (Status ok = check_epoch(job, e, ranks); !ok) return ok;
  }
  return {};
}

std::string summary_json(const Job& job, const Summary& s) {
  Json out = Json::object();
  out["job"] = job.name;
  out["whole"] = s.whole;
  put_counts(out, job, s.total);
  out["restarts"] = s.restarts;
  out["seconds"] = s.seconds;
  out["tokens_per_s"] = s.seconds > 0 ? static_cast<double>(s.total.tokens) / s.seconds : 0.0;
  out["quarantine"] = s.quarantine;
  Json epochs = Json::array();
  for (const EpochCounts& e : s.epochs) {
    Json j = Json::object();
    j["epoch"] = e.epoch;
    put_counts(j, job, e.counts);
    epochs.push_back(std::move(j));
  }
  out["per_epoch"] = std::move(epochs);
  return dump_json(out, 2) + "\n";
}

std::string summary_text(const Job& job, const Summary& s) {
  const Counts& c = s.total;
  const Json losses = lost_json(c.ledger);
  std::string lost;
  for (const auto& [reason, n] : losses.items()) {
    if (n.get<std::uint64_t>() > 0)
      lost += fmt::format("{}{} {}", lost.empty() ? "" : ", ", reason, n.dump());
  }
  std::string restarts;
  for (const auto& [role, n] : s.restarts) {
    if (n > 0) restarts += fmt::format("{}{} {}", restarts.empty() ? "" : ", ", role, n);
  }
  return fmt::format(
      "packline: {}{}\n"
      "  records {}   samples {}   packs {} ({} a rank)   tokens {}\n"
      "  fill {:.2f} %   lost {}   truncated tokens {}   restarts {}\n"
      "  {:.2f} s   {:.0f} tokens/s   stream digest {}\n",
      job.name, s.whole ? "" : " (not the whole job)", c.ledger.records_read, c.samples, c.packs,
      packs_per_rank(c), c.tokens, 100 * fill(job, c), lost.empty() ? "nothing" : lost,
      c.ledger.tokens_truncated, restarts.empty() ? "none" : restarts, s.seconds,
      s.seconds > 0 ? static_cast<double>(c.tokens) / s.seconds : 0.0, hex16(stream_digest(c)));
}

}  // namespace packline

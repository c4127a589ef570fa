#include "lib/windows/epoch_advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace packline {
namespace {

constexpr double kSameToAReader = 0.0005;
constexpr double kClearlyBetter = 0.01;
constexpr double kNearlyAsGood = 0.005;
constexpr double kNoAccident = 0.01;  // a share that is lost

double ratio_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The smallest capacity that fills about as well as any, if that is clearly better than the job's.
std::optional<std::size_t> better_one(const std::vector<CapacityFit>& fits, std::size_t own) {
  const auto sound = [&](const CapacityFit& f) { return f.tokens_gone <= fits[own].tokens_gone; };
  double best = 0;
  for (const CapacityFit& f : fits)
    if (sound(f)) best = std::max(best, f.fill());
  for (std::size_t i = 0; i < fits.size(); ++i) {
    const double fill = fits[i].fill();
    if (!sound(fits[i]) || fill < best - kNearlyAsGood) continue;
    if (fill >= fits[own].fill() + kClearlyBetter) return i;
    break;
  }
  return {};
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string capacity_sentence(const Job& job, const EpochCount& count, const Advice& advice) {
  const CapacityFit& own = advice.own_fit();
  std::string out = fmt::format("fill {}", percent(count.fill()));
  if (count.fill() >= own.best_fill() - kSameToAReader) {
    out += fmt::format(", the best possible for these lengths at {}", grouped(own.capacity));
  } else {
    const bool no_better = own.fill() >= own.best_fill() - kSameToAReader;
    out += fmt::format("; at {} {} over the whole epoch gives {}, {}", grouped(own.capacity),
                       job.pack.strategy == Strategy::kWrapped ? "one cut" : "best fit",
                       percent(own.fill()),
                       no_better ? "the best possible"
                                 : fmt::format("no plan more than {}", percent(own.best_fill())));
  }
  if (advice.better) {
    const CapacityFit& better = advice.capacities[*advice.better];
    out += fmt::format("; {} would give {}", grouped(better.capacity), percent(better.fill()));
  }
  return out;
}

std::string look_ahead_sentence(const Job& job, const EpochCount& count, const Advice& advice) {
  if (job.pack.plan == PlanKind::kGlobal) return "";
  if (advice.default_look_ahead) {
    const PackSettings more = *with_default_look_ahead(job.pack);
    return fmt::format(
        "look-ahead: {} as it is, about {} with pack.lookahead_packs {}, lookahead_samples_max {}, "
        "lookahead_windows_max {} ({} with the whole epoch planned at once)",
        percent(count.fill()), percent(*advice.default_look_ahead), more.lookahead_packs,
        more.lookahead_samples_max, more.lookahead_windows_max, percent(advice.at_once));
  }
  if (!looks_ahead(job.pack.strategy)) return "";
  return fmt::format("look-ahead: {} as it is, {} with the whole epoch planned at once",
                     percent(count.fill()), percent(advice.at_once));
}

std::string balance_sentence(const Job& job, const Advice& advice) {
  if (advice.dp_size < 2 || advice.balance.steps() == 0) return "";
  const auto told = [](const StepBalance& b) {
    return fmt::format("{:.2f} times the mean ({:.2f} at worst), {} of the time is waiting",
                       b.mean(), b.worst(), percent(b.waiting()));
  };
  std::string out = fmt::format("work of a step's {} packs (cost {}): the costliest is {}",
                                advice.dp_size, cost_words(job.pack), told(advice.balance));
  if (advice.balanced)
    out += fmt::format("; with pack.balance: attention {}", told(*advice.balanced));
  return out;
}

// Records decide what stands in a cause; it must not steer a terminal.
std::string printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = ' ';
  }
  return text;
}

std::string example_of(const LossCount& loss) {
  if (loss.examples.empty()) return "";
  const Loss& first = loss.examples.front();
  return "; the first is " +
         printable(
             fmt::format("{}: {}", first.where.empty() ? first.id : first.where, first.cause));
}

std::string what_to_do(const Job& job, const std::string& reason) {
  if (reason == name_of(SampleLoss::kOverLong))
    return fmt::format("; raise pack.capacity {}, or set pack.over_long: truncate_right or split",
                       job.pack.capacity);
  if (reason == name_of(SampleLoss::kRemainder)) return "; set pack.remainder: spread to keep them";
  return "";
}

bool loses_records(const std::string& reason) {
  for (std::size_t i = 0; i < kRecordLosses; ++i)
    if (reason == name_of(static_cast<RecordLoss>(i))) return true;
  return false;
}

void add_losses(const Job& job, const EpochCount& count, std::vector<EpochWarning>& warnings) {
  const Ledger& l = count.ledger;
  for (const auto& [reason, loss] : count.details.losses) {
    if (loses_records(reason)) {
      const double share = ratio_of(loss.count, l.records_read);
      if (share <= kNoAccident) continue;
      warnings.push_back({reason, fmt::format("{} of the records ({} of {}) are lost ({}){}",
                                              percent(share), grouped(loss.count),
                                              grouped(l.records_read), reason, example_of(loss))});
      continue;
    }
    const double tokens = ratio_of(loss.tokens, l.tokens_made);
    const double samples = ratio_of(loss.count, l.samples_made);
    if (std::max(tokens, samples) <= kNoAccident) continue;
    warnings.push_back(
        {reason, fmt::format("{} of the tokens ({} of {}) and {} of the samples ({} of {}) are "
                             "lost ({}){}{}",
                             percent(tokens), grouped(loss.tokens), grouped(l.tokens_made),
                             percent(samples), grouped(loss.count), grouped(l.samples_made), reason,
                             what_to_do(job, reason), example_of(loss))});
  }
}

void add_cut(const Job& job, const EpochCount& count, const Advice& advice,
             std::vector<EpochWarning>& warnings) {
  const double share = ratio_of(count.ledger.tokens_truncated, count.ledger.tokens_made);
  if (share <= kNoAccident) return;
  std::string text = fmt::format(
      "{} of the tokens ({} of {}) are cut off (pack.over_long); raise pack.capacity {}",
      percent(share), grouped(count.ledger.tokens_truncated), grouped(count.ledger.tokens_made),
      job.pack.capacity);
  if (advice.cut)
    text += fmt::format("; for example {}: the sample has {} tokens", printable(advice.cut->where),
                        grouped(advice.cut->tokens));
  warnings.push_back({"truncated", std::move(text)});
}

}  // namespace

std::string grouped(std::uint64_t n) {
  std::string out = fmt::format("{}", n);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

std::string cost_words(const PackSettings& settings) {
  if (settings.cost_per_token == 0) return "L^2, attention alone";
  return fmt::format("{} L + L^2", settings.cost_per_token);
}

Advice advice_on(const Job& job, const EpochCount& count) {
  const EpochDetails& details = count.details;
  Advice advice;
  for (const std::uint32_t capacity : capacities_around(job.pack, details.lengths.longest())) {
    if (capacity == job.pack.capacity) advice.own = advice.capacities.size();
    advice.capacities.push_back(fit_at(details.lengths, job.pack, capacity));
  }
  advice.better = better_one(advice.capacities, advice.own);
  advice.fill = count.fill();
  advice.at_once = advice.own_fit().fill();
  if (details.default_look_ahead) advice.default_look_ahead = details.default_look_ahead->fill();
  advice.dp_size = job.deliver.dp_size;
  advice.balance = details.balance;
  if (job.pack.balance == Balance::kNone && !keeps_order(job.pack.strategy))
    advice.balanced = details.balanced;
  if (count.ledger.tokens_truncated > 0) advice.cut = find_cut(job, details.maybe_cut);
  return advice;
}

std::vector<std::string> advice_sentences(const Job& job, const EpochCount& count,
                                          const Advice& advice) {
  if (count.packs == 0) return {};
  std::vector<std::string> all = {capacity_sentence(job, count, advice),
                                  look_ahead_sentence(job, count, advice),
                                  balance_sentence(job, advice)};
  std::erase(all, "");
  return all;
}

std::vector<EpochWarning> warnings_on(const Job& job, const EpochCount& count,
                                      const Advice& advice) {
  std::vector<EpochWarning> warnings;
  const DeliverSettings& deliver = job.deliver;
  std::string few = too_few_packs(count.packs, deliver.dp_size, deliver.packs_per_optimizer_step);
  if (!few.empty()) warnings.push_back({"too_few_packs", std::move(few)});
  if (const std::uint64_t idle = count.details.packs_without_labels; idle > 0) {
    warnings.push_back(
        {"packs_without_labels",
         fmt::format("{} of {} packs have no token that carries loss: a step on them trains "
                     "nothing and its loss may be NaN; look at the labels, or set "
                     "pack.drop_unsupervised: true",
                     grouped(idle), grouped(count.packs))});
  }
  add_losses(job, count, warnings);
  add_cut(job, count, advice, warnings);
  return warnings;
}

}  // namespace packline

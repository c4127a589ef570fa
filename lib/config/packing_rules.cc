#include <fmt/format.h>

#include <string>

#include "lib/config/keys.h"
#include "lib/config/rules.h"

namespace packline {
namespace {

// A setting that another one leaves no room for.
void refuse(Findings& findings, const char* key, const char* with, std::string text) {
  if (findings.sound(key) && findings.sound(with)) findings.add(key, std::move(text));
}

std::string strategy_name(const Job& job) { return find_key("pack.strategy")->get(job, 0); }

void check_multiples(const Job& job, Findings& findings) {
  const std::uint32_t capacity = job.pack.capacity;
  const auto check = [&](const char* key, std::uint32_t multiple) {
    if (capacity % multiple == 0) return;
    refuse(findings, key, "pack.capacity",
           fmt::format("{} does not divide pack.capacity: {}, which a pack may not exceed; set "
                       "pack.capacity: {}",
                       multiple, capacity, (capacity / multiple + 1) * multiple));
  };
  check("pack.sample_multiple_of", job.pack.sample_multiple_of);
  check("pack.pad_to_multiple_of", job.pack.pad_to_multiple_of);
}

// In the order of the samples, nothing can be chosen.
void check_kept_order(const Job& job, Findings& findings) {
  const PackSettings& pack = job.pack;
  if (!keeps_order(pack.strategy)) return;
  const std::string why = fmt::format(
      "does not go with pack.strategy: {}, which keeps the order of the samples; set "
      "pack.strategy: best_fit_decreasing",
      strategy_name(job));
  if (pack.balance != Balance::kNone) refuse(findings, "pack.balance", "pack.strategy", why);
  if (pack.same_kind) refuse(findings, "pack.same_kind", "pack.strategy", why);
}

void check_wrapped(const Job& job, Findings& findings) {
  const PackSettings& pack = job.pack;
  if (pack.strategy != Strategy::kWrapped) return;
  const std::string why =
      "does not go with pack.strategy: wrapped, which cuts the token stream at every capacity; "
      "leave it out";
  if (pack.max_samples > 0) refuse(findings, "pack.max_samples", "pack.strategy", why);
  if (pack.sample_multiple_of > 1)
    refuse(findings, "pack.sample_multiple_of", "pack.strategy", why);
}

void check_plan(const Job& job, Findings& findings) {
  const PackSettings& pack = job.pack;
  if (pack.plan == PlanKind::kGlobal) {
    if (!looks_ahead(pack.strategy))
      refuse(findings, "pack.plan", "pack.strategy",
             fmt::format("global does not go with pack.strategy: {}; set pack.strategy: "
                         "best_fit_decreasing or first_fit_decreasing, or leave pack.plan out",
                         strategy_name(job)));
  } else if (pack.replan_each_epoch) {
    refuse(findings, "pack.replan_each_epoch", "pack.plan",
           "says something about pack.plan: global only; set that, or leave this out");
  }
}

}  // namespace

void check_packing(const Job& job, Findings& findings) {
  check_multiples(job, findings);
  check_kept_order(job, findings);
  check_wrapped(job, findings);
  check_plan(job, findings);
}

}  // namespace packline

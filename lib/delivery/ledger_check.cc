#include "lib/delivery/ledger_check.h"

#include <fmt/format.h>

#include <numeric>
#include <string>

namespace packline {
namespace {

template <typename Counts>
std::uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace

Status check_ledger(const Ledger& ledger, std::uint64_t samples_delivered,
                    std::uint64_t tokens_delivered) {
  std::string wrong;
  const auto balance = [&](const char* what, std::uint64_t in, const char* names,
                           std::uint64_t out) {
    if (in == out) return;
    wrong += fmt::format("{}{}: {} came in, but {} are accounted for ({})",
                         wrong.empty() ? "" : "; ", what, in, out, names);
  };
  const std::uint64_t records_lost = sum(ledger.records_lost);
  balance("records", ledger.records_read,
          fmt::format("{} encoded + {} lost", ledger.records_encoded, records_lost).c_str(),
          ledger.records_encoded + records_lost);
  const std::uint64_t samples_lost = sum(ledger.samples_lost);
  balance("samples", ledger.samples_made + ledger.samples_repeated,
          fmt::format("{} delivered + {} lost", samples_delivered, samples_lost).c_str(),
          samples_delivered + samples_lost);
  const std::uint64_t tokens_lost = sum(ledger.tokens_lost);
  balance("tokens", ledger.tokens_made + ledger.tokens_repeated,
          fmt::format("{} delivered + {} truncated + {} of lost samples", tokens_delivered,
                      ledger.tokens_truncated, tokens_lost)
              .c_str(),
          tokens_delivered + ledger.tokens_truncated + tokens_lost);
  if (wrong.empty()) return {};
  return fail(ExitCode::kBug, "the ledger does not balance: " + wrong);
}

}  // namespace packline

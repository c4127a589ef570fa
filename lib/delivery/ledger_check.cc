#include "lib/delivery/ledger_check.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace packline {

Status check_ledger(const Ledger& ledger, std::uint64_t samples_delivered,
                    std::uint64_t tokens_delivered) {
  std::string wrong;
  const auto balance = [&](std::string_view what, std::uint64_t in, std::string_view names,
                           std::uint64_t out) {
    if (in == out) return;
    wrong += fmt::format("{}{}: {} came in, but {} are accounted for ({})",
                         wrong.empty() ? "" : "; ", what, in, out, names);
  };
  const std::uint64_t records_lost = ledger.records_lost_in_all();
  balance("records", ledger.records_read,
          fmt::format("{} encoded + {} lost", ledger.records_encoded, records_lost),
          ledger.records_encoded + records_lost);
  const std::uint64_t samples_lost = ledger.samples_lost_in_all();
  balance("samples", ledger.samples_made + ledger.samples_repeated,
          fmt::format("{} delivered + {} lost", samples_delivered, samples_lost),
          samples_delivered + samples_lost);
  const std::uint64_t tokens_lost = ledger.tokens_lost_in_all();
  balance("tokens", ledger.tokens_made + ledger.tokens_repeated,
          fmt::format("{} delivered + {} truncated + {} of lost samples", tokens_delivered,
                      ledger.tokens_truncated, tokens_lost),
          tokens_delivered + ledger.tokens_truncated + tokens_lost);
  if (wrong.empty()) return {};
  return fail(ExitCode::kBug, "the ledger does not balance: " + wrong);
}

}  // namespace packline

#include "lib/delivery/ledger.h"

#include <numeric>

#include "lib/base/check.h"

namespace packline {
namespace {

void add(std::uint64_t& to, std::uint64_t from) { to += from; }

template <std::size_t N>
void add(std::array<std::uint64_t, N>& to, const std::array<std::uint64_t, N>& from) {
  for (std::size_t i = 0; i < N; ++i) to[i] += from[i];
}

template <std::size_t N>
std::uint64_t sum(const std::array<std::uint64_t, N>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace

std::string_view name_of(RecordLoss r) {
  switch (r) {
    case RecordLoss::kParse:
      return "parse";
    case RecordLoss::kEncode:
      return "encode";
    case RecordLoss::kEncoderKilled:
      return "encoder_killed";
  }
  PL_CHECK(false);
}

std::string_view name_of(SampleLoss s) {
  switch (s) {
    case SampleLoss::kEmpty:
      return "empty";
    case SampleLoss::kOverLong:
      return "over_long";
    case SampleLoss::kUnsupervised:
      return "unsupervised";
    case SampleLoss::kRemainder:
      return "remainder";
  }
  PL_CHECK(false);
}

Ledger& Ledger::operator+=(const Ledger& o) {
  each_field([](const char*, auto& to, const auto& from) { add(to, from); }, *this, o);
  return *this;
}

std::uint64_t Ledger::records_lost_in_all() const { return sum(records_lost); }
std::uint64_t Ledger::samples_lost_in_all() const { return sum(samples_lost); }
std::uint64_t Ledger::tokens_lost_in_all() const { return sum(tokens_lost); }

Tally& Tally::operator+=(const Tally& o) {
  packs += o.packs;
  samples += o.samples;
  tokens += o.tokens;
  digest += o.digest;
  ledger += o.ledger;
  return *this;
}

}  // namespace packline

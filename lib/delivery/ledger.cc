#include "lib/delivery/ledger.h"

namespace packline {
namespace {

template <std::size_t N>
void add(std::array<std::uint64_t, N>& to, const std::array<std::uint64_t, N>& from) {
  for (std::size_t i = 0; i < N; ++i) to[i] += from[i];
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
  return "unknown";
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
  return "unknown";
}

Ledger& Ledger::operator+=(const Ledger& o) {
  records_read += o.records_read;
  records_encoded += o.records_encoded;
  add(records_lost, o.records_lost);
  samples_made += o.samples_made;
  tokens_made += o.tokens_made;
  add(samples_lost, o.samples_lost);
  add(tokens_lost, o.tokens_lost);
  tokens_truncated += o.tokens_truncated;
  samples_repeated += o.samples_repeated;
  tokens_repeated += o.tokens_repeated;
  return *this;
}

Tally& Tally::operator+=(const Tally& o) {
  packs += o.packs;
  samples += o.samples;
  tokens += o.tokens;
  digest += o.digest;
  ledger += o.ledger;
  return *this;
}

}  // namespace packline

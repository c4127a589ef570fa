#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace packline {

// Why a record or a sample did not reach a trainer; the words of the summary and the quarantine.
enum class RecordLoss : std::uint8_t { kParse, kEncode, kEncoderKilled };
enum class SampleLoss : std::uint8_t { kEmpty, kOverLong, kUnsupervised, kRemainder };
constexpr std::size_t kRecordLosses = 3;
constexpr std::size_t kSampleLosses = 4;
std::string_view name_of(RecordLoss r);  // parse, encode, encoder_killed
std::string_view name_of(SampleLoss s);  // empty, over_long, unsupervised, remainder

// What became of everything a window read. It travels with the window and is added up by whoever
// passes over it, so it is exact however often the window was made (law L4). A record and its
// samples are counted in the window in which its reading began.
struct Ledger {
  std::uint64_t records_read = 0;
  std::uint64_t records_encoded = 0;
  std::array<std::uint64_t, kRecordLosses> records_lost{};
  std::uint64_t samples_made = 0;
  std::uint64_t tokens_made = 0;
  std::array<std::uint64_t, kSampleLosses> samples_lost{};
  std::array<std::uint64_t, kSampleLosses> tokens_lost{};
  std::uint64_t tokens_truncated = 0;
  std::uint64_t samples_repeated = 0;
  std::uint64_t tokens_repeated = 0;

  bool operator==(const Ledger&) const = default;
  Ledger& operator+=(const Ledger& o);

  std::uint64_t records_lost_in_all() const;
  std::uint64_t samples_lost_in_all() const;
  std::uint64_t tokens_lost_in_all() const;
};

// Calls f(name, field...) for each field of one or several ledgers, in the order of the wire.
template <typename F, typename... Ledgers>
void each_field(F&& f, Ledgers&... l) {
  f("records_read", l.records_read...);
  f("records_encoded", l.records_encoded...);
  f("records_lost", l.records_lost...);
  f("samples_made", l.samples_made...);
  f("tokens_made", l.tokens_made...);
  f("samples_lost", l.samples_lost...);
  f("tokens_lost", l.tokens_lost...);
  f("tokens_truncated", l.tokens_truncated...);
  f("samples_repeated", l.samples_repeated...);
  f("tokens_repeated", l.tokens_repeated...);
}

// What one rank was handed: the sums over its packs. `digest` is the sum of h(pack) modulo 2^64.
struct Tally {
  std::uint64_t packs = 0;
  std::uint64_t samples = 0;
  std::uint64_t tokens = 0;
  std::uint64_t digest = 0;
  Ledger ledger;  // of the windows passed over, the same on every rank

  bool operator==(const Tally&) const = default;
  Tally& operator+=(const Tally& o);
};

}  // namespace packline

#include "lib/corpus/position.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

namespace packline {
namespace {

constexpr std::size_t kTextMax = std::size_t{1} << 20;

// Reads a text from the left; `ok` turns false for good at the first thing that does not fit.
struct PositionReader {
  std::string_view left;
  bool ok = true;

  bool is(char c) const { return ok && !left.empty() && left[0] == c; }
  void skip(char c) {
    ok = is(c);
    if (ok) left.remove_prefix(1);
  }
  template <typename T>
  T number() {
    T value = 0;
    const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), value);
    const auto digits = static_cast<std::size_t>(end - left.data());
    ok = ok && error == std::errc() && (digits == 1 || left[0] != '0');
    if (ok) left.remove_prefix(digits);
    return value;
  }
};

bool comes_before(std::uint64_t record_a, std::uint32_t sample_a, std::uint64_t record_b,
                  std::uint32_t sample_b) {
  return record_a != record_b ? record_a < record_b : sample_a < sample_b;
}

// The next carried sample of `text`, of a position whose earlier ones are `p.carried`.
void read_carried(PositionReader& text, Position& p) {
  text.skip(',');
  const auto back = text.number<std::uint64_t>();
  text.skip('.');
  CarriedRef c;
  c.sample = text.number<std::uint32_t>();
  text.skip('.');
  c.age = text.number<std::uint32_t>();
  text.ok = text.ok && back <= p.record && c.age > 0;
  c.record = p.record - back;
  text.ok = text.ok && comes_before(c.record, c.sample, p.record, p.sample);
  if (!p.carried.empty()) {
    const CarriedRef& last = p.carried.back();
    text.ok = text.ok && comes_before(last.record, last.sample, c.record, c.sample);
  }
  p.carried.push_back(c);
}

tl::unexpected<Error> refuse(std::string_view text, std::size_t at) {
  std::string shown;
  for (const char c : text.substr(0, 60)) shown += c >= ' ' && c <= '~' ? c : '?';
  return fail(ExitCode::kDataRefused,
              fmt::format("\"{}{}\" is not a position of a lane: byte {} does not fit; take the "
                          "cursor again from the checkpoint that this job wrote",
                          shown, text.size() > 60 ? "..." : "", at));
}

}  // namespace

std::string Position::text() const {
  if (*this == Position{}) return "";
  std::string out = fmt::format("{}.{}.{}", record, sample, token);
  for (const CarriedRef& c : carried) {
    fmt::format_to(std::back_inserter(out), ",{}.{}.{}", record - c.record, c.sample, c.age);
  }
  return out;
}

Result<Position> Position::parse(std::string_view text) {
  if (text.empty()) return Position{};
  if (text.size() > kTextMax) return refuse(text, kTextMax);
  PositionReader reader{text};
  Position p;
  p.record = reader.number<std::uint64_t>();
  reader.skip('.');
  p.sample = reader.number<std::uint32_t>();
  reader.skip('.');
  p.token = reader.number<std::uint32_t>();
  while (reader.ok && !reader.left.empty()) read_carried(reader, p);
  reader.ok = reader.ok && p != Position{};  // the start is the empty text
  if (!reader.ok) return refuse(text, text.size() - reader.left.size());
  return p;
}

}  // namespace packline

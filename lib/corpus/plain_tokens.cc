#include "lib/corpus/plain_tokens.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace packline {
namespace {

// Reads on from `p`. Every function gives false where the line is not of the plain kind; nothing is
// read beyond the line but its padding, whose spaces end every number and every string.
struct Reader {
  const char* p;
  const char* end;

  void blanks() {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) ++p;
  }
  bool take(char c) {
    blanks();
    if (p >= end || *p != c) return false;
    ++p;
    return true;
  }

  // A string of printable ASCII without escapes.
  bool string(std::string_view& out) {
    if (!take('"')) return false;
    const char* from = p;
    while (p < end && *p >= 0x20 && *p < 0x7F && *p != '"' && *p != '\\') ++p;
    out = {from, static_cast<std::size_t>(p - from)};
    return p < end && *p++ == '"';
  }

  // An array of integers of at most 7 digits each.
  bool integers(std::vector<std::int32_t>& out) {
    constexpr std::size_t kHeld = 512;
    std::int32_t held[kHeld];
    if (!take('[')) return false;
    blanks();
    const char* q = p;  // a local, so that it stays in a register
    if (q < end && *q == ']') return ++p, true;
    for (;;) {
      std::size_t n = 0;
      do {
        // A branch can be foreseen; adding the comparison's result would be waited for.
        if (*q == ' ') [[likely]] {
          ++q;
        }
        q = *q == '-' ? negative(q, held[n++]) : digits(q, held[n++]);
        if (q == nullptr) return false;
      } while (*q == ',' && (++q, n < kHeld));
      out.insert(out.end(), held, held + n);
      if (q[-1] == ',') continue;
      p = q;
      return take(']');
    }
  }

  // Labels are mostly -100.
  static const char* negative(const char* q, std::int32_t& out) {
    if (std::memcmp(q, "-100", 4) == 0 && (q[4] == ',' || q[4] == ']')) {
      out = -100;
      return q + 4;
    }
    q = digits(q + 1, out);
    out = -out;
    return out == 0 ? nullptr : q;
  }

  // Reads 1 to 7 digits and gives the place behind them; or nullptr. Eight bytes are looked at
  // together (after D. Lemire, "Quickly parsing eight digits", 2018).
  static const char* digits(const char* q, std::int32_t& out) {
    out = 0;
    std::uint64_t word;
    std::memcpy(&word, q, sizeof word);
    word ^= 0x3030303030303030u;  // digits are now 0 to 9
    const std::uint64_t others =
        ((word + 0x7676767676767676u) | word) & 0x8080808080808080u;  // of bytes over 9
    const int bits = std::countr_zero(others) & ~7;                   // of digits; 64: no end here
    if (bits == 0 || bits == 64 || (bits > 8 && *q == '0')) return nullptr;
    word <<= 64 - bits;  // leading zeros in front, which little-endian has at the low end
    word = word * 10 + (word >> 8);
    word = (((word & 0x000000FF000000FFu) * 0x000F424000000064u) +
            (((word >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
           32;
    out = static_cast<std::int32_t>(word & 0xFFFFFFFFu);
    return q + bits / 8;
  }
};

}  // namespace

bool PlainTokens::read(std::string_view line, const FieldNames& fields) {
  if constexpr (std::endian::native != std::endian::little) return false;
  id = {};
  input_ids.clear();
  labels.clear();
  mask.clear();
  others.clear();
  bool has_ids = false, has_id = false;
  has_labels = has_mask = false;

  Reader r{line.data(), line.data() + line.size()};
  if (!r.take('{')) return false;
  do {
    std::string_view key, text;
    if (!r.string(key) || !r.take(':')) return false;
    r.blanks();
    bool fine = false;
    if (key == fields.id) {
      fine = !std::exchange(has_id, true) && r.string(id) && id.size() <= kRecordIdMax;
    } else if (key == fields.input_ids) {
      fine = !std::exchange(has_ids, true) && r.integers(input_ids);
    } else if (key == fields.labels) {
      fine = !std::exchange(has_labels, true) && r.integers(labels);
    } else if (key == fields.loss_mask) {
      fine = !std::exchange(has_mask, true) && r.integers(mask);
    } else if (r.p < r.end && *r.p == '"') {
      fine = r.string(text);
    } else if (!key.empty() && key.size() < 64 && key != "input_ids" && key != "labels") {
      std::vector<std::int32_t> values;
      fine = r.integers(values);
      others.push_back({std::string(key), false, {values.begin(), values.end()}, {}});
    }
    if (!fine) return false;
  } while (r.take(','));
  if (!r.take('}')) return false;
  r.blanks();
  if (r.p != r.end || !has_ids) return false;
  return std::none_of(input_ids.begin(), input_ids.end(), [](std::int32_t i) { return i < 0; }) &&
         std::none_of(mask.begin(), mask.end(), [](std::int32_t i) { return (i & ~1) != 0; });
}

}  // namespace packline

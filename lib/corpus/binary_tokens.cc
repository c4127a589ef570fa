#include "lib/corpus/binary_tokens.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "lib/base/check.h"

namespace packline {
namespace {

static_assert(std::endian::native == std::endian::little, "ids are copied as they stand");

constexpr std::int64_t kTokenMax = std::numeric_limits<std::int32_t>::max();

template <typename T>
T id_at(std::string_view bytes, std::size_t i) {
  T id;
  std::memcpy(&id, &bytes[i * sizeof(T)], sizeof id);
  return id;
}

// One pass without a branch, so that it runs at the speed of memory; a second one only to find what
// is wrong.
template <typename T>
std::string read_ids(std::string_view bytes, std::int32_t* to) {
  const std::size_t n = bytes.size() / sizeof(T);
  std::make_unsigned_t<T> all = 0;
  if constexpr (std::is_same_v<T, std::int32_t>) {
    if (n > 0) std::memcpy(to, bytes.data(), n * sizeof(T));
    for (std::size_t i = 0; i < n; ++i) all |= static_cast<std::uint32_t>(to[i]);
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      const T id = id_at<T>(bytes, i);
      all |= static_cast<std::make_unsigned_t<T>>(id);
      to[i] = static_cast<std::int32_t>(id);  // NOLINT(bugprone-signed-char-misuse): a number
    }
  }
  if (std::uint64_t{all} <= kTokenMax && (std::is_unsigned_v<T> || static_cast<T>(all) >= 0)) {
    return {};
  }
  for (std::size_t i = 0; i < n; ++i) {
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): a number
    const auto id = static_cast<std::int64_t>(id_at<T>(bytes, i));
    if (id >= 0 && id <= kTokenMax) continue;
    return fmt::format("the record holds {} at place {}; a token id is 0 to {}", id, i, kTokenMax);
  }
  return {};
}

}  // namespace

std::size_t token_bytes(RecordForm form) {
  switch (form) {
    case RecordForm::kJson:
    case RecordForm::kText:
      return 0;
    case RecordForm::kU8:
    case RecordForm::kI8:
      return 1;
    case RecordForm::kI16:
    case RecordForm::kU16:
      return 2;
    case RecordForm::kI32:
      return 4;
    case RecordForm::kI64:
      break;
  }
  return 8;
}

std::string read_tokens(std::string_view bytes, RecordForm form, std::int32_t* to) {
  const std::size_t width = token_bytes(form);
  PL_CHECK(width > 0);
  if (bytes.size() % width != 0) {
    return fmt::format("the record has {} bytes, which is no multiple of {}", bytes.size(), width);
  }
  switch (form) {
    case RecordForm::kU8:
      return read_ids<std::uint8_t>(bytes, to);
    case RecordForm::kI8:
      return read_ids<std::int8_t>(bytes, to);
    case RecordForm::kI16:
      return read_ids<std::int16_t>(bytes, to);
    case RecordForm::kU16:
      return read_ids<std::uint16_t>(bytes, to);
    case RecordForm::kI32:
      return read_ids<std::int32_t>(bytes, to);
    default:
      return read_ids<std::int64_t>(bytes, to);
  }
}

}  // namespace packline

#include "lib/corpus/token_arrays.h"

#include <limits>
#include <utility>

namespace packline::json {
namespace {

constexpr std::int64_t kMaxId = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kNoLabel = -100;  // kIgnore of lib/sample, which lies above this room

// Why an element of an array is not the integer it should be.
std::string no_integer(simdjson::simdjson_result<od::value> element, std::string_view key,
                       std::size_t place) {
  od::value value;
  if (const auto error = std::move(element).get(value)) return not_json(error);
  od::json_type type;
  std::string_view why = "is not an integer";
  if (!value.type().get(type) && type == od::json_type::number) {
    const std::string_view token = trimmed(value.raw_json_token());
    if (token.find_first_not_of("-0123456789") == std::string_view::npos) {
      why = "does not fit 32 bits";
    }
  }
  return fmt::format("{} holds {} at place {}, which {}", key, describe(value), place, why);
}

std::string get_array(od::value& value, std::string_view key, std::string_view of,
                      od::array& array) {
  od::json_type type;
  if (value.type().get(type) || type != od::json_type::array) {
    return fmt::format("{} is {}, not an array of {}", key, describe(value), of);
  }
  const auto error = value.get_array().get(array);
  return error ? not_json(error) : std::string();
}

void extend(std::vector<std::uint32_t>& spans, std::size_t place) {
  const auto at = static_cast<std::uint32_t>(place);
  if (!spans.empty() && spans.back() == at) {
    ++spans.back();
  } else {
    spans.push_back(at);
    spans.push_back(at + 1);
  }
}

}  // namespace

std::string read_int32s(od::value value, std::string_view key, std::int64_t least,
                        std::vector<std::int32_t>& out) {
  od::array array;
  if (std::string wrong = get_array(value, key, "integers", array); !wrong.empty()) return wrong;
  for (auto element : array) {
    std::int64_t x;
    if (element.get_int64().get(x)) [[unlikely]]
      return no_integer(element, key, out.size());
    if (x < least || x > kMaxId) [[unlikely]] {
      return fmt::format("{} holds {} at place {}; it may hold {} to {}", key, x, out.size(), least,
                         kMaxId);
    }
    out.push_back(static_cast<std::int32_t>(x));
  }
  return {};
}

std::string read_mask(od::value value, std::string_view key, std::vector<std::uint32_t>& spans,
                      std::size_t& size) {
  od::array array;
  if (std::string wrong = get_array(value, key, "0 and 1", array); !wrong.empty()) return wrong;
  size = 0;
  for (auto element : array) {
    std::int64_t x = 0;
    bool truth = false;
    if (!element.get_int64().get(x)) {
      truth = x == 1;
    } else if (!element.get_bool().get(truth)) {
      x = truth ? 1 : 0;
    } else {
      return no_integer(element, key, size);
    }
    if (x != 0 && x != 1) {
      return fmt::format("{} holds {} at place {}; it may hold 0, 1, false and true", key, x, size);
    }
    if (truth) extend(spans, size);
    ++size;
  }
  return {};
}

std::string read_numbers(od::value value, TokenColumn& column, bool& numbers) {
  od::array array;
  numbers = true;
  if (const auto error = value.get_array().get(array)) return not_json(error);
  for (auto element : array) {
    std::int64_t whole;
    double real;
    if (numbers && !column.real && !element.get_int64().get(whole)) {
      column.integers.push_back(whole);
    } else if (numbers && !element.get_double().get(real)) {
      if (!column.real) column.reals.assign(column.integers.begin(), column.integers.end());
      column.real = true;
      column.reals.push_back(real);
    } else {
      numbers = false;
      od::value inner;
      if (const auto error = std::move(element).get(inner)) return not_json(error);
      if (std::string wrong = check_value(inner, 2); !wrong.empty()) return wrong;
    }
  }
  return {};
}

void append_spans(const std::vector<std::int32_t>& values, std::int32_t outside,
                  std::vector<std::uint32_t>& spans) {
  const std::size_t n = values.size();
  for (std::size_t i = 0; i < n;) {
    while (i < n && values[i] == outside) ++i;
    if (i == n) break;
    spans.push_back(static_cast<std::uint32_t>(i));
    while (i < n && values[i] != outside) ++i;
    spans.push_back(static_cast<std::uint32_t>(i));
  }
}

bool spans_of(const std::vector<std::int32_t>& input_ids, const std::vector<std::int32_t>& labels,
              std::vector<std::uint32_t>& spans) {
  const std::size_t n = input_ids.size();
  std::size_t others = 0;
  for (std::size_t i = 0; i < n; ++i) {
    others += labels[i] != kNoLabel && labels[i] != input_ids[i] ? 1 : 0;
  }
  if (others > 0) return false;
  append_spans(labels, kNoLabel, spans);
  return true;
}

}  // namespace packline::json

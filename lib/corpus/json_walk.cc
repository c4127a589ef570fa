#include "lib/corpus/json_walk.h"

#include "lib/corpus/record.h"

namespace packline::json {

std::string_view trimmed(std::string_view token) {
  const std::size_t end = token.find_last_not_of(" \t\r\n");
  return token.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

simdjson::error_code get_text(od::value& value, std::string_view& text) {
  const auto error = value.get_string().get(text);
  // Releases of simdjson differ in what they take for half a surrogate pair.
  if (!error && !simdjson::validate_utf8(text.data(), text.size())) return simdjson::STRING_ERROR;
  return error;
}

std::string shortened(std::string_view text) {
  constexpr std::size_t kShown = 40;
  text = trimmed(text);
  if (text.size() <= kShown) return std::string(text);
  std::size_t n = kShown;
  while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
  return std::string(text.substr(0, n)) + "...";
}

std::string not_json(simdjson::error_code error) {
  return fmt::format("the line is not JSON: {}", simdjson::error_message(error));
}

std::string describe(od::value& value) {
  od::json_type type;
  if (!value.type().get(type)) {
    if (type == od::json_type::array) return "an array";
    if (type == od::json_type::object) return "an object";
    if (type == od::json_type::string) return "a string";
  }
  return shortened(value.raw_json_token());
}

namespace {

std::string check_array(od::value& value, std::size_t depth) {
  od::array array;
  if (const auto error = value.get_array().get(array)) return not_json(error);
  for (auto element : array) {
    od::value inner;
    if (const auto error = std::move(element).get(inner)) return not_json(error);
    if (std::string wrong = check_value(inner, depth); !wrong.empty()) return wrong;
  }
  return {};
}

std::string check_object(od::value& value, std::size_t depth) {
  od::object object;
  if (const auto error = value.get_object().get(object)) return not_json(error);
  for (auto field : object) {
    std::string_view key;
    od::value inner;
    if (const auto error = field.unescaped_key().get(key)) return not_json(error);
    if (const auto error = field.value().get(inner)) return not_json(error);
    if (std::string wrong = check_value(inner, depth); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace

std::string check_value(od::value value, std::size_t depth) {
  if (depth > kNestingMax) {
    return fmt::format("the record is nested deeper than {} levels", kNestingMax);
  }
  od::json_type type;
  bool right = false;
  if (!value.type().get(type)) {
    std::string_view text;
    double number;
    bool truth;
    switch (type) {
      case od::json_type::array:
        return check_array(value, depth + 1);
      case od::json_type::object:
        return check_object(value, depth + 1);
      case od::json_type::string:
        if (const auto error = get_text(value, text)) return not_json(error);
        return {};
      case od::json_type::number:
        right = !value.get_double().get(number);
        break;
      case od::json_type::boolean:
        right = !value.get_bool().get(truth);
        break;
      default:
        right = !value.is_null().get(truth) && truth;
    }
  }
  if (right) return {};
  return fmt::format("the line is not JSON: {} is no value", shortened(value.raw_json_token()));
}

}  // namespace packline::json

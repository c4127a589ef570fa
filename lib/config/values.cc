#include "lib/config/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "lib/config/names.h"

namespace packline {
namespace {

using Refusal = tl::unexpected<std::string>;

bool digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::uint64_t> parse_base(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

// The decimal integer that somebody meant who wrote `text` in another notation; "" when unclear.
std::string meant_integer(std::string_view text) {
  std::string bare;
  for (const char c : text) {
    if (c != '_' && c != ',' && c != '\'') bare += c;
  }
  if (bare.starts_with('+')) bare.erase(0, 1);
  std::optional<std::uint64_t> value;
  const std::string_view after =
      std::string_view(bare).substr(std::min<std::size_t>(2, bare.size()));
  if (bare.starts_with("0x") || bare.starts_with("0X")) {
    value = parse_base(after, 16);
  } else if (bare.starts_with("0o") || bare.starts_with("0O")) {
    value = parse_base(after, 8);
  } else if (bare.starts_with("0b") || bare.starts_with("0B")) {
    value = parse_base(after, 2);
  } else if (digits(bare)) {
    value = parse_base(bare, 10);
  } else if (const auto number = parse_double(bare);
             number && *number >= 0 && *number < 9e15 && *number == std::floor(*number)) {
    value = static_cast<std::uint64_t>(*number);
  }
  return value ? fmt::format("{}", *value) : "";
}

std::string instead(std::string_view value) {
  return value.empty() ? "" : fmt::format("; write {}", value);
}

Refusal not_allowed(const Key& key, std::string_view is, std::string_view hint = "") {
  return Refusal(fmt::format("must be {}, is {}{}", allowed(key), is, hint));
}

tl::expected<KeyValue, std::string> read_integer(const Key& key, const YamlNode& node) {
  const std::string& text = node.text;
  const std::string_view magnitude =
      text.starts_with('-') ? std::string_view(text).substr(1) : std::string_view(text);
  const bool canonical = digits(magnitude) && (magnitude == "0" || magnitude.front() != '0');
  if (!canonical) return not_allowed(key, what_stands(node), instead(meant_integer(text)));
  if (node.quoted) {
    return not_allowed(key, fmt::format("the text \"{}\"", shown(text)),
                       "; write it without quotes");
  }
  KeyValue value;
  const auto number = parse_base(text, 10);
  const std::uint64_t high = key.high >= 9223372036854775807.0
                                 ? std::uint64_t{INT64_MAX}
                                 : static_cast<std::uint64_t>(key.high);
  if (!number || *number < static_cast<std::uint64_t>(key.low) || *number > high) {
    return not_allowed(key, shown(text));
  }
  value.integer = *number;
  return value;
}

tl::expected<KeyValue, std::string> read_number(const Key& key, const YamlNode& node) {
  const std::string& text = node.text;
  const bool begins = !text.empty() && (text.front() == '-' || digits(text.substr(0, 1)));
  const auto number = parse_double(text);
  if (!number || !begins || text.back() == '.') {
    return not_allowed(key, what_stands(node),
                       text.starts_with('.') && parse_double(text) ? instead("0" + text)
                                                                   : instead(meant_integer(text)));
  }
  if (node.quoted) {
    return not_allowed(key, fmt::format("the text \"{}\"", shown(text)),
                       "; write it without quotes");
  }
  if (*number < key.low || *number > key.high) return not_allowed(key, shown(text));
  KeyValue value;
  value.number = *number;
  return value;
}

tl::expected<KeyValue, std::string> read_boolean(const Key& key, const YamlNode& node) {
  KeyValue value;
  value.truth = node.text == "true";
  if ((value.truth || node.text == "false") && !node.quoted) return value;
  std::string lower = node.text.substr(0, 8);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, lower) != words.end();
  };
  std::string hint;
  if (is_one_of({"yes", "on", "y", "1", "true"})) hint = "; write true";
  if (is_one_of({"no", "off", "n", "0", "false"})) hint = "; write false";
  return not_allowed(key, what_stands(node),
                     hint + (node.quoted && !hint.empty() ? " without quotes" : ""));
}

tl::expected<KeyValue, std::string> read_choice(const Key& key, const YamlNode& node) {
  const auto found = std::ranges::find(key.choices, node.text);
  if (found == key.choices.end()) {
    const std::string nearest = nearest_name(node.text, key.choices);
    return not_allowed(key, what_stands(node),
                       nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
  }
  KeyValue value;
  value.integer = static_cast<std::uint64_t>(found - key.choices.begin());
  return value;
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<std::uint8_t>(c) < 0x20 || c == 0x7F; });
}

tl::expected<KeyValue, std::string> read_text(const Key& key, const YamlNode& node) {
  if (node.text.empty() || static_cast<double>(node.text.size()) > key.high) {
    return not_allowed(
        key, node.text.empty() ? "empty" : fmt::format("{} bytes long", node.text.size()));
  }
  if (has_control(node.text)) {
    return Refusal(
        fmt::format("must be one line without control characters, is \"{}\"", shown(node.text)));
  }
  KeyValue value;
  value.text = node.text;
  return value;
}

tl::expected<KeyValue, std::string> read_texts(const Key& key, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kList) {
    return not_allowed(key, what_stands(node),
                       node.kind == YamlNode::Kind::kScalar
                           ? fmt::format("; write [{}]", yaml_scalar(shown(node.text)))
                           : "");
  }
  if (node.inside.empty()) return Refusal("is an empty list; leave the key out");
  KeyValue value;
  for (std::size_t i = 0; i < node.inside.size(); ++i) {
    const YamlNode& item = node.inside[i];
    if (item.kind != YamlNode::Kind::kScalar) {
      return Refusal(fmt::format("item {} must be a text, is {}", i, what_stands(item)));
    }
    auto one = read_text(key, item);
    if (!one) return Refusal(fmt::format("item {} {}", i, one.error()));
    value.texts.push_back(std::move(one->text));
  }
  return value;
}

}  // namespace

std::string what_stands(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "empty";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kScalar:
      break;
  }
  if (node.text.empty()) return "an empty text";
  return node.quoted ? fmt::format("the text \"{}\"", shown(node.text)) : shown(node.text);
}

tl::expected<KeyValue, std::string> read_value(const Key& key, const YamlNode& node) {
  if (key.type == KeyType::kTexts) return read_texts(key, node);
  if (node.kind == YamlNode::Kind::kNull) {
    return not_allowed(key, "empty", key.required ? "" : "; give a value or take the line away");
  }
  if (node.kind != YamlNode::Kind::kScalar) return not_allowed(key, what_stands(node));
  switch (key.type) {
    case KeyType::kEpochs:
      if (node.text == "continuous") {
        KeyValue value;
        value.integer = kContinuous;
        return value;
      }
      return read_integer(key, node);
    case KeyType::kInteger:
      return read_integer(key, node);
    case KeyType::kNumber:
      return read_number(key, node);
    case KeyType::kBoolean:
      return read_boolean(key, node);
    case KeyType::kChoice:
      return read_choice(key, node);
    default:
      return read_text(key, node);
  }
}

}  // namespace packline

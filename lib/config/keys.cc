#include "lib/config/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace packline {
namespace {

std::string plain(double value) {
  return value > 0 && value < 0.001 ? fmt::format("{:.6f}", value) : fmt::format("{}", value);
}

// 2^63 - 1 is no double.
std::string top_of(const Key& key) {
  return key.high > 9.2e18 ? "9223372036854775807" : plain(key.high);
}

}  // namespace

const Key* find_key(std::string_view path) {
  const auto& keys = job_keys();
  const auto found = std::ranges::find(keys, path, &Key::path);
  return found == keys.end() ? nullptr : &*found;
}

std::string joined(std::string_view outer, std::string_view name) {
  return outer.empty() ? std::string(name) : fmt::format("{}.{}", outer, name);
}

std::vector<std::string> names_inside(std::string_view section) {
  const std::string prefix = section.empty() ? "" : fmt::format("{}.", section);
  std::vector<std::string> names;
  for (const Key& key : job_keys()) {
    if (!key.path.starts_with(prefix)) continue;
    const std::string rest = key.path.substr(prefix.size());
    std::string name = rest.substr(0, rest.find_first_of(".["));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

bool is_section(std::string_view path) {
  const std::string prefix = fmt::format("{}.", path);
  return std::ranges::any_of(job_keys(),
                             [&](const Key& key) { return key.path.starts_with(prefix); });
}

bool is_list_of_sections(std::string_view path) { return is_section(fmt::format("{}[]", path)); }

std::string default_of(const Key& key) {
  if (key.required || !key.computed.empty()) return "";
  Job job;
  job.sources.emplace_back();
  return key.get(job, 0);
}

std::string allowed(const Key& key) {
  const std::string unit = key.unit.empty() ? "" : fmt::format(" ({})", key.unit);
  switch (key.type) {
    case KeyType::kInteger:
      if (key.low == key.high) return plain(key.low);
      return fmt::format("an integer from {} to {}{}", plain(key.low), top_of(key), unit);
    case KeyType::kNumber:
      return fmt::format("a number from {} to {}{}", plain(key.low), top_of(key), unit);
    case KeyType::kBoolean:
      return "true or false";
    case KeyType::kChoice:
      return key.choices.size() == 1 ? key.choices.front()
                                     : fmt::format("one of {}", fmt::join(key.choices, ", "));
    case KeyType::kText:
      return fmt::format("a text of 1 to {} bytes", plain(key.high));
    case KeyType::kEpochs:
      return fmt::format("an integer from {} to {}, or continuous", plain(key.low),
                         plain(key.high));
    case KeyType::kTexts:
      return "a list of texts, [a, b]";
  }
  return "";
}

std::string facts(const Key& key) {
  std::vector<std::string> parts;
  if (!key.unit.empty()) parts.push_back(key.unit);
  switch (key.type) {
    case KeyType::kInteger:
    case KeyType::kNumber:
    case KeyType::kEpochs:
      parts.push_back(key.low == key.high ? plain(key.low)
                                          : fmt::format("{}..{}", plain(key.low), top_of(key)));
      if (key.type == KeyType::kEpochs) parts.back() += " or continuous";
      break;
    case KeyType::kBoolean:
      parts.push_back("true or false");
      break;
    case KeyType::kChoice:
      parts.push_back(fmt::format("{}", fmt::join(key.choices, " or ")));
      break;
    case KeyType::kText:
      parts.push_back("text");
      break;
    case KeyType::kTexts:
      parts.push_back("list of texts");
      break;
  }
  const std::string value = key.computed.empty() ? default_of(key) : key.computed;
  parts.push_back(key.required    ? "required"
                  : value.empty() ? "no default"
                                  : fmt::format("default {}", value));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace packline

#include "lib/config/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "lib/config/keys.h"
#include "lib/config/names.h"

namespace packline {
namespace {

constexpr std::size_t kPartsMax = 8;

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts{""};
  for (const char c : path) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::optional<std::size_t> index_of(const std::string& part) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  if (error != std::errc() || end != part.data() + part.size() || value > kYamlNodesMax) {
    return std::nullopt;
  }
  return value;
}

// Whether what stands at the pattern is a list, of sections or of texts.
bool is_list(const std::string& pattern) {
  const Key* key = find_key(pattern);
  return is_list_of_sections(pattern) || (key != nullptr && key->type == KeyType::kTexts);
}

// The sentence for a path that cannot be set; "" when it can.
std::string refusal(const std::vector<std::string>& parts) {
  if (parts.size() > kPartsMax) return "the path is deeper than any setting";
  std::string pattern;
  std::string path;
  for (const std::string& part : parts) {
    if (part.empty()) return "write it as a.b.0.c=value, without empty names";
    if (!path.empty() && is_list(pattern)) {
      if (!index_of(part)) {
        return fmt::format("{} is a list; name an item of it by its number, {}.0", path, path);
      }
      pattern += "[]";
    } else if (!path.empty() && !is_section(pattern)) {
      return fmt::format("{} is a value; there is nothing inside it", path);
    } else {
      const std::string next = joined(pattern, part);
      const bool known = part.find_first_of("[]") == std::string::npos &&
                         (find_key(next) != nullptr || is_section(next) || is_list(next));
      if (!known) return unknown_key(pattern, part).text;
      pattern = next;
    }
    path = joined(path, part);
  }
  return "";
}

void mark_as_set(YamlNode& node) {
  node.from_set = true;
  node.line = node.name_line = 0;
  for (YamlNode& child : node.inside) mark_as_set(child);
}

YamlNode set_node(YamlNode::Kind kind) {
  YamlNode node;
  node.kind = kind;
  node.from_set = true;
  return node;
}

// The place inside `node` that `part` names, made where it may be; nullptr and a sentence else.
YamlNode* step(YamlNode& node, const std::string& part, bool list, std::string& why) {
  const auto kind = list ? YamlNode::Kind::kList : YamlNode::Kind::kMap;
  if (node.kind == YamlNode::Kind::kNull) node.kind = kind;
  if (node.kind != kind) {
    why = fmt::format("cannot be set, since what the file has around it is no {}; mend the file",
                      list ? "list" : "map");
    return nullptr;
  }
  if (list) {
    const std::size_t index = *index_of(part);
    if (index > node.inside.size()) {
      why = fmt::format("the list has {} items; the next one is number {}", node.inside.size(),
                        node.inside.size());
      return nullptr;
    }
    if (index == node.inside.size()) node.inside.push_back(set_node(YamlNode::Kind::kNull));
    return &node.inside[index];
  }
  auto found = std::ranges::find(node.inside, part, &YamlNode::name);
  if (found == node.inside.end()) {
    node.inside.push_back(set_node(YamlNode::Kind::kNull));
    node.inside.back().name = part;
    found = node.inside.end() - 1;
  }
  return &*found;
}

}  // namespace

void apply_set(const std::string& set, YamlNode& root, Findings& findings) {
  const std::size_t equals = set.find('=');
  const auto complain = [&](const std::string& path, std::string text) {
    findings.add_at(0, true, shown(path), std::move(text));
  };
  if (equals == std::string::npos || equals == 0) {
    complain(set, "write it as key=value, such as pack.capacity=4096");
    return;
  }
  const std::string path = set.substr(0, equals);
  const std::vector<std::string> parts = split(path);
  if (std::string why = refusal(parts); !why.empty()) {
    complain(path, std::move(why));
    return;
  }
  YamlText value = parse_yaml(std::string_view(set).substr(equals + 1));
  for (YamlMistake& mistake : value.mistakes) complain(path, std::move(mistake.text));
  if (!value.mistakes.empty()) return;

  YamlNode changed = root;  // so that a refused path leaves no half-made maps
  YamlNode* at = &changed;
  std::string pattern;
  for (const std::string& part : parts) {
    const bool list = !pattern.empty() && is_list(pattern);
    std::string why;
    at = step(*at, part, list, why);
    if (at == nullptr) {
      complain(path, std::move(why));
      return;
    }
    pattern = list ? pattern + "[]" : joined(pattern, part);
  }
  value.root.name = at->name;
  mark_as_set(value.root);
  *at = std::move(value.root);
  root = std::move(changed);
}

}  // namespace packline

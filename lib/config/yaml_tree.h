#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// A YAML text as a plain tree that knows its lines. Hostile texts are refused before memory is
// taken for them; only yaml_tree.cc includes yaml-cpp.

namespace packline {

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;              // of a scalar
  bool quoted = false;           // the scalar stands in quotes or as a block
  int line = 0;                  // from 1
  bool from_set = false;         // given by --set, not by the file
  std::string name;              // its key, for a map's children
  int name_line = 0;             // where that key stands
  std::vector<YamlNode> inside;  // a list's items, a map's values in the order of the text
};

struct YamlMistake {
  int line = 0;  // from 1; 0 = the text as a whole
  std::string text;
};

struct YamlText {
  YamlNode root;
  std::vector<YamlMistake> mistakes;
  bool whole = false;  // root is the text's tree; else the mistakes say why there is none
};

constexpr std::size_t kYamlBytesMax = std::size_t{1} << 20;
constexpr std::size_t kYamlNodesMax = 100'000;
constexpr std::size_t kYamlAliasesMax = 100;
constexpr std::size_t kYamlDepthMax = 32;
constexpr std::size_t kYamlMistakesMax = 100;

// Reads one document. A name given twice keeps its first value and is a mistake; an alias stands
// for a copy of its anchor's value. The limits above are each a mistake that says so.
YamlText parse_yaml(std::string_view text);

// A text as it may stand in a sentence: at most 48 bytes, control characters escaped.
std::string shown(std::string_view text);

// A scalar that YAML reads back as this very text, in quotes where it must be.
std::string yaml_scalar(std::string_view text);

}  // namespace packline

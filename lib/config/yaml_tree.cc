#include "lib/config/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "lib/config/text_checks.h"

namespace packline {
namespace {

// Ends the reading; never leaves this file.
struct Refused {
  YamlMistake mistake;
};

[[noreturn]] void refuse(int line, std::string text) { throw Refused{{line, std::move(text)}}; }

// yaml-cpp counts lines from 0, and knows none for some errors.
int line_of(const YAML::Mark& mark) { return mark.line < 0 ? 0 : mark.line + 1; }

std::size_t count_nodes(const YamlNode& node) {
  std::size_t n = 1;
  for (const YamlNode& child : node.inside) n += count_nodes(child);
  return n;
}

// Builds the tree from yaml-cpp's events, in which an alias is still one event: nothing is unfolded
// before it was counted.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::vector<YamlMistake>& mistakes) : mistakes_(mistakes) {}

  YamlNode take_root() { return root_ ? std::move(*root_) : YamlNode{}; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    count(1, line_of(mark));
    finish(make(YamlNode::Kind::kNull, mark), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    count(1, line_of(mark));
    YamlNode node = make(YamlNode::Kind::kScalar, mark);
    node.text = value;
    node.quoted = tag == "!";
    check_tag(mark, tag);
    finish(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      refuse(line_of(mark), "an alias stands inside the value that it names; write the value out");
    }
    if (++aliases_ > kYamlAliasesMax) {
      refuse(line_of(mark),
             fmt::format("more than {} aliases (*name); write the values out", kYamlAliasesMax));
    }
    count(found->second.nodes, line_of(mark));
    finish(found->second.value, 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    std::optional<YamlNode> key;                 // of a map: read, its value not yet
    std::unordered_map<std::string, int> names;  // of a map: name -> its line
  };
  struct Anchor {
    YamlNode value;
    std::size_t nodes = 0;
  };

  static YamlNode make(YamlNode::Kind kind, const YAML::Mark& mark) {
    YamlNode node;
    node.kind = kind;
    node.line = line_of(mark);
    return node;
  }

  void complain(int line, std::string text) {
    if (mistakes_.size() < kYamlMistakesMax) mistakes_.push_back({line, std::move(text)});
  }

  void count(std::size_t nodes, int line) {
    nodes_ += nodes;
    if (nodes_ > kYamlNodesMax) {
      refuse(line, fmt::format("more than {} values, aliases counted as what they stand for; "
                               "a job file is far smaller",
                               kYamlNodesMax));
    }
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    complain(line_of(mark),
             fmt::format("the tag {} is not read; leave tags (!...) out", shown(tag)));
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    if (stack_.size() >= kYamlDepthMax) {
      refuse(line_of(mark),
             fmt::format("nested more than {} deep; a job file never is", kYamlDepthMax));
    }
    count(1, line_of(mark));
    check_tag(mark, tag);
    stack_.push_back({make(kind, mark), anchor, std::nullopt, {}});
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    finish(std::move(frame.node), frame.anchor);
  }

  void finish(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      const std::size_t nodes = count_nodes(node);
      count(nodes, node.line);  // the copy that is kept
      anchors_[anchor] = {node, nodes};
    }
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& parent = stack_.back();
    if (parent.node.kind == YamlNode::Kind::kList) {
      parent.node.inside.push_back(std::move(node));
    } else if (!parent.key) {
      parent.key = std::move(node);
    } else {
      add_to_map(parent, std::move(node));
    }
  }

  void add_to_map(Frame& map, YamlNode value) {
    const YamlNode key = std::move(*map.key);
    map.key.reset();
    if (key.kind != YamlNode::Kind::kScalar) {
      complain(key.line, "a key must be a name, not empty, a map or a list");
      return;
    }
    const auto [first, is_new] = map.names.emplace(key.text, key.line);
    if (!is_new) {
      complain(key.line, fmt::format("{} is given twice, first in line {}; keep one of them",
                                     shown(key.text), first->second));
      return;
    }
    value.name = key.text;
    value.name_line = key.line;
    map.node.inside.push_back(std::move(value));
  }

  std::vector<YamlMistake>& mistakes_;
  std::optional<YamlNode> root_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Anchor> anchors_;
  std::size_t nodes_ = 0;
  std::size_t aliases_ = 0;
};

// Says whether anything follows the first document.
class Trailing : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { say(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { say(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { say(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    say(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    say(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    say(mark);
  }
  void OnMapEnd() override {}

 private:
  [[noreturn]] static void say(const YAML::Mark& mark) {
    refuse(line_of(mark),
           "a second document or stray text begins here; a job file is one document");
  }
};

}  // namespace

YamlText parse_yaml(std::string_view text) {
  YamlText result;
  if (auto mistake = check_text(text)) {
    result.mistakes.push_back(std::move(*mistake));
    return result;
  }
  TreeBuilder builder(result.mistakes);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) {
      Trailing trailing;
      parser.HandleNextDocument(trailing);
    }
    result.root = builder.take_root();
    result.whole = true;
  } catch (const Refused& refused) {
    result.mistakes.push_back(refused.mistake);
  } catch (const YAML::Exception& e) {
    const int line = line_of(e.mark);
    result.mistakes.push_back({line, explain_syntax(text, line, e.msg)});
  }
  return result;
}

}  // namespace packline

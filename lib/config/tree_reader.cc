#include "lib/config/tree_reader.h"

#include <fmt/format.h>

#include "lib/config/keys.h"
#include "lib/config/names.h"
#include "lib/config/values.h"

namespace packline {
namespace {

constexpr std::size_t kSourcesMax = 1000;

class TreeReader {
 public:
  TreeReader(Job& job, Findings& findings) : job_(job), findings_(findings) {}

  void read(const YamlNode& root) {
    read_section(root, "", "");
    report_missing("", "");
    for (std::size_t i = 0; i < job_.sources.size(); ++i) {
      report_missing("sources[]", fmt::format("sources.{}", i));
    }
    if (!findings_.given("sources") && findings_.sound("sources")) {
      findings_.add("sources",
                    "is missing; name at least one source: [{path: \"data/*.jsonl\", "
                    "format: text}]");
    }
  }

 private:
  // `pattern` is the section in the table ("sources[]"), `path` the very one ("sources.0").
  void read_section(const YamlNode& map, const std::string& pattern, const std::string& path) {
    for (const YamlNode& child : map.inside) {
      if (findings_.full()) return;
      read_child(child, joined(pattern, child.name), pattern, path);
    }
  }

  void read_child(const YamlNode& child, const std::string& pattern, const std::string& outer,
                  const std::string& outer_path) {
    const std::string path = joined(outer_path, child.name);
    const bool one_name = child.name.find_first_of(".[") == std::string::npos;
    const Key* key = one_name ? find_key(pattern) : nullptr;
    if (key != nullptr) {
      findings_.give(path, child);
      read_leaf(*key, child, path);
    } else if (one_name && is_list_of_sections(pattern)) {
      findings_.give(path, child);
      read_list(child, pattern, path);
    } else if (one_name && is_section(pattern)) {
      findings_.give(path, child);
      if (child.kind == YamlNode::Kind::kMap) {
        read_section(child, pattern, path);
      } else if (child.kind != YamlNode::Kind::kNull) {  // an empty section has its defaults
        findings_.add(path, fmt::format("must be a map of settings, is {}", what_stands(child)));
        findings_.spoil(path);
      }
    } else {
      const UnknownKey unknown = unknown_key(outer, child.name);
      findings_.add_at(child.name_line, child.from_set, joined(outer_path, shown(child.name)),
                       unknown.text);
      spoil_meant(unknown.meant);
    }
  }

  // So that `sorces:` is one mistake, not also a missing `sources`.
  void spoil_meant(std::string meant) {
    const std::size_t at = meant.find("[]");
    if (at != std::string::npos) meant.replace(at, 2, fmt::format(".{}", source_));
    if (!meant.empty() && !findings_.given(meant)) findings_.spoil(meant);
  }

  void read_leaf(const Key& key, const YamlNode& node, const std::string& path) {
    auto value = read_value(key, node);
    if (!value) {
      findings_.add(path, value.error());
      findings_.spoil(path);
      return;
    }
    key.set(job_, source_, *value);
  }

  void read_list(const YamlNode& list, const std::string& pattern, const std::string& path) {
    if (list.kind != YamlNode::Kind::kList) {
      findings_.add(path, fmt::format("must be a list, - {{path: \"data/*.jsonl\", format: text}} "
                                      "for each source, is {}",
                                      what_stands(list)));
      findings_.spoil(path);
      return;
    }
    if (list.inside.empty() || list.inside.size() > kSourcesMax) {
      findings_.add(path, fmt::format("must name 1 to {} sources, names {}", kSourcesMax,
                                      list.inside.size()));
      findings_.spoil(path);
      return;
    }
    job_.sources.resize(list.inside.size());
    for (source_ = 0; source_ < list.inside.size(); ++source_) {
      const YamlNode& item = list.inside[source_];
      const std::string item_path = fmt::format("{}.{}", path, source_);
      findings_.give(item_path, item);
      if (item.kind == YamlNode::Kind::kMap) {
        read_section(item, pattern + "[]", item_path);
      } else {
        findings_.add(item_path, fmt::format("must be a map, {{path: \"data/*.jsonl\", format: "
                                             "text}}, is {}",
                                             what_stands(item)));
        findings_.spoil(item_path);
      }
    }
    source_ = 0;
  }

  // The required keys of the section that stand in no list of its own.
  void report_missing(const std::string& pattern, const std::string& path) {
    const std::string prefix = pattern.empty() ? "" : pattern + ".";
    for (const Key& key : job_keys()) {
      if (!key.required || !key.path.starts_with(prefix)) continue;
      const std::string name = key.path.substr(prefix.size());
      if (name.find('[') != std::string::npos) continue;
      const std::string full = joined(path, name);
      if (findings_.given(full) || !findings_.sound(full)) continue;
      findings_.add(full, fmt::format("is missing; it must be {}", allowed(key)));
      findings_.spoil(full);
    }
  }

  Job& job_;
  Findings& findings_;
  std::size_t source_ = 0;
};

}  // namespace

void read_tree(const YamlNode& root, Job& job, Findings& findings) {
  TreeReader(job, findings).read(root);
}

}  // namespace packline

#include "lib/config/keys.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "lib/config/yaml_tree.h"
#include "tests/unit/config/job_folder.h"

namespace packline::test {
namespace {

std::string reference_text() {
  return read_all(std::string(PACKLINE_SOURCE_DIR) + "/config/job.reference.yaml");
}

// The reference with the settings that are commented out (#key, without one space between) made
// live.
std::string uncommented(const std::string& text) {
  static const std::regex kSetting("^( *)#(  +)?([a-z_]+:.*)$");
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    out += std::regex_replace(line, kSetting, "$1$2$3") + "\n";
  }
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string comment_in(const std::string& line) {
  const std::size_t at = line.rfind(" # ");
  if (at != std::string::npos) return line.substr(at + 3);
  const std::size_t begin = line.find_first_not_of(' ');
  return begin != std::string::npos && line.compare(begin, 2, "# ") == 0 ? line.substr(begin + 2)
                                                                         : "";
}

// Every leaf of the tree by its path in the table, with its node.
void collect(const YamlNode& node, const std::string& path,
             std::map<std::string, const YamlNode*>& out) {
  for (const YamlNode& child : node.inside) {
    const std::string at =
        node.kind == YamlNode::Kind::kList ? path + "[]" : joined(path, child.name);
    if (is_section(at) || is_list_of_sections(at)) {
      collect(child, at, out);
    } else {
      out[at] = &child;
    }
  }
}

}  // namespace

TEST_CASE("Keys: the reference file has every key of the table and no other") {
  const YamlText yaml = parse_yaml(uncommented(reference_text()));
  REQUIRE(yaml.whole);
  REQUIRE(yaml.mistakes.empty());
  std::map<std::string, const YamlNode*> found;
  collect(yaml.root, "", found);
  std::set<std::string> in_file, in_table;
  for (const auto& [path, node] : found) in_file.insert(path);
  for (const Key& key : job_keys()) in_table.insert(key.path);
  CHECK(in_file == in_table);
}

TEST_CASE("Keys: the reference file says of each key what the table says") {
  const std::string text = uncommented(reference_text());
  const std::vector<std::string> lines = lines_of(reference_text());
  const YamlText yaml = parse_yaml(text);
  std::map<std::string, const YamlNode*> found;
  collect(yaml.root, "", found);
  for (const Key& key : job_keys()) {
    CAPTURE(key.path);
    REQUIRE(found.contains(key.path));
    const auto line = static_cast<std::size_t>(found.at(key.path)->name_line);
    REQUIRE(line >= 2);
    CHECK(comment_in(lines[line - 1]) == facts(key));
    CHECK(comment_in(lines[line - 2]) == key.why);
  }
}

TEST_CASE("Keys: the values in the reference file are the defaults of the code") {
  const YamlText yaml = parse_yaml(reference_text());
  REQUIRE(yaml.whole);
  std::map<std::string, const YamlNode*> found;
  collect(yaml.root, "", found);
  std::size_t compared = 0;
  for (const Key& key : job_keys()) {
    CAPTURE(key.path);
    const std::string value = default_of(key);
    const bool commented_out = !found.contains(key.path);
    if (key.path.starts_with("line.")) {
      CHECK(commented_out);  // the section as a whole has no default
    } else {
      CHECK(commented_out == (value.empty() && !key.required));
    }
    if (value.empty() || commented_out) continue;
    CHECK(yaml_scalar(found.at(key.path)->text) == yaml_scalar(parse_yaml(value).root.text));
    ++compared;
  }
  CHECK(compared > 30);
}

TEST_CASE("Keys: the reference file is a job, with and without what is commented out") {
  const JobFolder folder;
  CHECK(folder.mistakes(reference_text()).empty());
  CHECK(folder.mistakes(uncommented(reference_text())).empty());
}

TEST_CASE("Keys: every key says why in one line, and has a setter and a getter") {
  std::set<std::string> seen;
  for (const Key& key : job_keys()) {
    CAPTURE(key.path);
    CHECK(seen.insert(key.path).second);
    CHECK(key.why.size() > 10);
    CHECK(key.why.size() < 95);
    CHECK(key.why.find('\n') == std::string::npos);
    CHECK(key.why.back() == '.');
    CHECK(static_cast<bool>(key.set));
    CHECK(static_cast<bool>(key.get));
    CHECK(key.low <= key.high);
    CHECK((key.type == KeyType::kChoice) == !key.choices.empty());
  }
}

TEST_CASE("Keys: the examples are jobs") {
  const JobFolder folder;
  folder.write("web/a.jsonl", "{}\n");
  folder.write("notes.jsonl", "{}\n");
  folder.write("tokens.jsonl", "{}\n");
  std::size_t examples = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(PACKLINE_SOURCE_DIR) + "/config")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    CHECK(folder.mistakes(read_all(entry.path().string())) == std::vector<std::string>{});
    ++examples;
  }
  CHECK(examples >= 5);
}

TEST_CASE("Keys: what is allowed reads as a sentence") {
  CHECK(allowed(*find_key("pack.capacity")) == "an integer from 1 to 16777216 (tokens)");
  CHECK(allowed(*find_key("seed")) == "an integer from 0 to 9223372036854775807");
  CHECK(allowed(*find_key("sources[].repeat")) == "a number from 0.000001 to 1000000 (times)");
  CHECK(allowed(*find_key("pack.over_long")) ==
        "one of drop, error, truncate_right, truncate_left, split");
  CHECK(facts(*find_key("epochs")) == "1..1000000000 or continuous, default 1");
  CHECK(facts(*find_key("encode.kind")) ==
        "tokens or bytes or sentencepiece or python or hf, required");
}

TEST_CASE("Keys: names inside a section come in table order") {
  CHECK(names_inside("shuffle") == std::vector<std::string>{"kind", "size"});
  CHECK(names_inside("sources[]") == std::vector<std::string>{"path", "read_as", "format", "record",
                                                              "weight", "repeat", "fields"});
  CHECK(find_key("pack") == nullptr);
  CHECK(is_section("sources[].fields"));
  CHECK(is_list_of_sections("sources"));
  CHECK_FALSE(is_section("sources"));
}

}  // namespace packline::test

#include "lib/config/findings.h"

#include <fmt/format.h>

#include <utility>

namespace packline {

void Findings::give(const std::string& path, const YamlNode& node) {
  given_[path] = {node.name_line > 0 ? node.name_line : node.line, node.from_set};
}

bool Findings::sound(const std::string& path) const {
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    if (spoiled_.contains(path.substr(0, dot))) return false;
  }
  return !spoiled_.contains(path);
}

void Findings::add(const std::string& path, std::string text) {
  std::string at = path;
  while (!at.empty() && !given_.contains(at)) {
    const std::size_t dot = at.rfind('.');
    at = dot == std::string::npos ? "" : at.substr(0, dot);
  }
  const Where where = at.empty() ? Where{} : given_.at(at);
  add_at(where.line, where.from_set, path, std::move(text));
}

void Findings::add_at(int line, bool from_set, const std::string& path, std::string text) {
  if (full()) return;
  mistakes_.push_back({from_set ? "--set" : file_, from_set ? 0 : line, path, std::move(text)});
}

std::vector<Mistake> Findings::take() {
  const bool cut = full();
  std::multimap<std::pair<bool, int>, Mistake> sorted;  // equal ones stay as they were found
  for (Mistake& mistake : mistakes_) {
    sorted.emplace(std::pair(mistake.file == "--set", mistake.line), std::move(mistake));
  }
  mistakes_.clear();
  for (auto& [place, mistake] : sorted) mistakes_.push_back(std::move(mistake));
  if (cut) {
    mistakes_.push_back(
        {file_, 0, "",
         fmt::format("{} mistakes or more; these were found first, mend them and look again",
                     kYamlMistakesMax)});
  }
  return std::move(mistakes_);
}

std::string Mistake::line_text() const {
  std::string out = line > 0 ? fmt::format("{}:{}", file, line) : file;
  if (!key.empty()) out += ": " + key;
  return out + ": " + text;
}

}  // namespace packline

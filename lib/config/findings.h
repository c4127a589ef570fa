#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/config/job.h"
#include "lib/config/yaml_tree.h"

// What reading a job found: which keys were given, where, and every mistake.

namespace packline {

class Findings {
 public:
  explicit Findings(std::string file) : file_(std::move(file)) {}

  // A key or section ("sources.0.path") that the file or a --set gives.
  void give(const std::string& path, const YamlNode& node);
  // A key that is known to be meant, or whose value cannot be used: it is not reported as missing,
  // and rules that need it are not tried.
  void spoil(const std::string& path) { spoiled_[path] = true; }

  bool given(const std::string& path) const { return given_.contains(path); }
  // Its value, given or default, can be used.
  bool sound(const std::string& path) const;

  // A mistake where the key stands, or, when it was not given, where the section around it stands.
  void add(const std::string& path, std::string text);
  void add_at(int line, bool from_set, const std::string& path, std::string text);
  bool full() const { return mistakes_.size() >= kYamlMistakesMax; }

  // By line, those of the file as a whole first and those of --set last.
  std::vector<Mistake> take();

 private:
  struct Where {
    int line = 0;
    bool from_set = false;
  };
  std::string file_;
  std::map<std::string, Where> given_;
  std::map<std::string, bool> spoiled_;
  std::vector<Mistake> mistakes_;
};

}  // namespace packline

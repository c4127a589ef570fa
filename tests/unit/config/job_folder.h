#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "lib/config/job.h"

// A private folder with a job file and the few data files that jobs of these tests name.

namespace packline::test {

class JobFolder {
 public:
  JobFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "packline-job-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    write("data/b.jsonl", "{\"text\": \"b\"}\n");
    write("data/a.jsonl", "{\"text\": \"a\"}\n");
    write("tok.model", "model");
  }
  ~JobFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;

  std::string at(const std::string& name) const { return (path_ / name).string(); }

  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
  }

  // Writes the job file and loads it.
  LoadedJob load(const std::string& yaml, const std::vector<std::string>& sets = {}) const {
    write("job.yaml", yaml);
    return load_job(at("job.yaml"), sets);
  }

  // The mistakes as a user reads them, with the file's name for its whole path.
  std::vector<std::string> mistakes(const std::string& yaml,
                                    const std::vector<std::string>& sets = {}) const {
    std::vector<std::string> lines;
    for (Mistake& mistake : load(yaml, sets).mistakes) {
      if (mistake.file == at("job.yaml")) mistake.file = "job.yaml";
      std::string text = mistake.line_text();
      for (std::size_t i = text.find(path_.string()); i != std::string::npos;
           i = text.find(path_.string())) {
        text.replace(i, path_.string().size(), "FOLDER");
      }
      lines.push_back(std::move(text));
    }
    return lines;
  }

 private:
  std::filesystem::path path_;
};

// The smallest whole job; line 2 is `sources`, line 3 `encode`.
inline std::string small_job(const std::string& more = "") {
  return "version: 1\nsources: [{path: data/a.jsonl, format: text}]\nencode: {kind: bytes}\n" +
         more;
}

inline std::string read_all(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Exactly one mistake, and it reads so.
#define CHECK_ONE(mistakes_expression, expected)                 \
  do {                                                           \
    const std::vector<std::string> found_ = mistakes_expression; \
    REQUIRE(found_.size() == 1);                                 \
    CHECK(found_[0] == (expected));                              \
  } while (false)

// Exactly one mistake, and it holds this.
#define CHECK_ONE_HOLDS(mistakes_expression, part)               \
  do {                                                           \
    const std::vector<std::string> found_ = mistakes_expression; \
    REQUIRE(found_.size() == 1);                                 \
    CAPTURE(found_[0]);                                          \
    CHECK(packline::test::contains(found_[0], part));            \
  } while (false)

}  // namespace packline::test

#include "lib/config/paths.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/config/job_folder.h"

namespace packline::test {
namespace {

std::vector<std::string> names(const JobFolder& folder, const std::string& pattern) {
  auto files = matched_files(folder.at("."), pattern);
  REQUIRE(files.has_value());
  std::vector<std::string> out;
  for (const std::string& file : *files) {
    CHECK(file.front() == '/');
    out.push_back(std::filesystem::path(file).filename().string());
  }
  return out;
}

std::string refused(const JobFolder& folder, const std::string& pattern) {
  auto files = matched_files(folder.at(""), pattern);
  REQUIRE_FALSE(files.has_value());
  return files.error();
}

}  // namespace

TEST_CASE("Paths: a pattern's files are sorted by their bytes") {
  const JobFolder folder;
  folder.write("data/B.jsonl", "");
  folder.write("data/a-1.jsonl", "");
  folder.write("data/a.txt", "");
  folder.write("data/.hidden.jsonl", "");
  CHECK(names(folder, "data/*.jsonl") ==
        std::vector<std::string>{"B.jsonl", "a-1.jsonl", "a.jsonl", "b.jsonl"});
  CHECK(names(folder, "data/[ab].jsonl") == std::vector<std::string>{"a.jsonl", "b.jsonl"});
  CHECK(names(folder, "data/?.jsonl").size() == 3);
  CHECK(names(folder, folder.at("data/*.txt")) == std::vector<std::string>{"a.txt"});
  CHECK(names(folder, "./data/../data/a.jsonl") == std::vector<std::string>{"a.jsonl"});
}

TEST_CASE("Paths: a file whose name looks like a pattern is itself") {
  const JobFolder folder;
  folder.write("data/x[1].jsonl", "");
  folder.write("data/x1.jsonl", "");
  CHECK(names(folder, "data/x[1].jsonl") == std::vector<std::string>{"x[1].jsonl"});
  folder.write("od[d] *dir/a.jsonl", "");
  auto files = matched_files(folder.at("od[d] *dir"), "*.jsonl");
  REQUIRE(files.has_value());
  CHECK(files->size() == 1);
}

TEST_CASE("Paths: what matches nothing says where it looked") {
  const JobFolder folder;
  CHECK(contains(refused(folder, "nope/*.jsonl"), "matches no file"));
  CHECK(contains(refused(folder, "nope.jsonl"), folder.at("nope.jsonl")));
  CHECK(contains(refused(folder, "~/x.jsonl"), "~ is not read"));
  CHECK(contains(refused(folder, "s3://bucket/x.jsonl"), "is an address"));
  CHECK(contains(refused(folder, "data/**/x.jsonl"), "** is not read"));
}

TEST_CASE("Paths: a folder, a device or a broken link is no data file, a pipe is") {
  const JobFolder folder;
  CHECK(contains(refused(folder, "data"),
                 "is a folder, not a file; name its files: \"data/*.jsonl\""));
  REQUIRE(::mkfifo(folder.at("data/pipe").c_str(), 0600) == 0);
  CHECK(matched_files(folder.at("."), "data/pipe")->size() == 1);
  CHECK(why_unreadable(folder.at("data/pipe")) == "is no regular file");
  CHECK(contains(refused(folder, "/dev/null"), "is no regular file"));
  REQUIRE(::symlink("nowhere", folder.at("data/broken").c_str()) == 0);
  CHECK(contains(refused(folder, "data/brok*n"), "is a link to a file that does not exist"));
}

TEST_CASE("Paths: a file that cannot be read is a mistake") {
  const JobFolder folder;
  REQUIRE(::chmod(folder.at("data/a.jsonl").c_str(), 0) == 0);
  if (::access(folder.at("data/a.jsonl").c_str(), R_OK) == 0) {
    MESSAGE("run as root, who reads everything: only the folder's case is tried");
  } else {
    CHECK(contains(refused(folder, "data/*.jsonl"), "cannot be read: Permission denied"));
  }
  CHECK(contains(why_unreadable(folder.at("tok.model/x")), "cannot be read: Not a directory"));
}

TEST_CASE("Paths: the same file twice within one source is a mistake") {
  const JobFolder folder;
  REQUIRE(::symlink("a.jsonl", folder.at("data/z.jsonl").c_str()) == 0);
  CHECK(contains(refused(folder, "data/*.jsonl"), "are the same file"));
}

}  // namespace packline::test

#include "lib/base/whole_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/unit/temp_folder.h"

namespace packline {
namespace {

using test::TempFolder;

std::size_t files_in(const TempFolder& folder) {
  const std::filesystem::directory_iterator all(folder.path());
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_CASE("Whole file: what was written is read, and nothing is left beside it") {
  const TempFolder folder;
  const std::string path = folder.path("a");
  for (const std::string& text :
       {std::string(), std::string("x\0y\n", 4), std::string(100000, 'z')}) {
    REQUIRE(write_whole(path, text).has_value());
    CHECK(read_whole(path).value() == text);
    CHECK(files_in(folder) == 1);
  }
}

TEST_CASE("Whole file: one that cannot be written leaves the one before, and says why") {
  const TempFolder folder;
  const Status nowhere = write_whole(folder.path("none/a"), "x");
  REQUIRE(!nowhere);
  CHECK(nowhere.error().text ==
        folder.path("none/a") + " cannot be written: No such file or directory");
  std::filesystem::create_directory(folder.path("folder"));
  CHECK(!write_whole(folder.path("folder"), "x"));
  CHECK(files_in(folder) == 1);
  const Result<std::string> missing = read_whole(folder.path("a"));
  REQUIRE(!missing);
  CHECK(missing.error().text == folder.path("a") + " cannot be read: No such file or directory");
}

TEST_CASE("Whole file: a new one does not replace what is there") {
  const TempFolder folder;
  CHECK(write_new(folder.path("a"), "first").value());
  CHECK_FALSE(write_new(folder.path("a"), "second").value());
  CHECK(read_whole(folder.path("a")).value() == "first");
  CHECK(files_in(folder) == 1);
  CHECK(!write_new(folder.path("none/a"), "x"));
}

}  // namespace
}  // namespace packline

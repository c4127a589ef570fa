#include "lib/corpus/index.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "lib/corpus/line_scan.h"
#include "tests/unit/temp_folder.h"

using namespace packline;
using packline::test::TempFolder;
namespace fs = std::filesystem;

namespace {

IndexRecipe lines() {
  return {"lines", 0, [](const StreamFile& data, IndexWriter& out) {
            LineScanner scanner;
            return scan_records(*open_stream(data, Compression::kNone), data, scanner, out, {});
          }};
}

std::string path_of(const std::string& file, const std::string& state) {
  return FileIndex::path_of(file, state, "lines");
}

FileIndex opened(const std::string& file, const std::string& state) {
  auto index = FileIndex::open(file, state, lines());
  REQUIRE_MESSAGE(index.has_value(), (index ? "" : index.error().text));
  return std::move(*index);
}

// A file of n records of different lengths.
std::string records(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    text +=
        "{\"id\":" + std::to_string(i) + std::string(static_cast<std::size_t>(i % 50), ' ') + "}\n";
  }
  return text;
}

void touch(const std::string& file) {
  fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(1));
}

bool same(const FileIndex& a, const std::vector<IndexEntry>& b) {
  return std::vector<IndexEntry>(a.entries().begin(), a.entries().end()) == b;
}

}  // namespace

TEST_CASE("FileIndex: has 16 bytes a record, with place, length and line") {
  const TempFolder folder;
  const std::string file = folder.write("a.jsonl", "{\"a\":1}\n\n{\"b\":22}\n");
  const FileIndex index = opened(file, folder.path("state"));
  CHECK(index.made());
  CHECK(same(index, {{0, 7, 1}, {9, 8, 3}}));
  CHECK(fs::file_size(path_of(file, folder.path("state"))) == kIndexHeaderBytes + 2 * 16);
}

TEST_CASE("FileIndex: is reused while the file is the same, also when it was only touched") {
  const TempFolder folder;
  const std::string state = folder.path("state");
  const std::string file = folder.write("a.jsonl", records(10000));
  const std::string index_file = path_of(file, state);
  CHECK(opened(file, state).made());
  const std::string first = TempFolder::read(index_file);
  CHECK_FALSE(opened(file, state).made());
  CHECK(TempFolder::read(index_file) == first);

  touch(file);
  CHECK_FALSE(opened(file, state).made());
  const std::string refreshed = TempFolder::read(index_file);
  CHECK(refreshed != first);  // the new ctime is noted
  CHECK(refreshed.substr(kIndexHeaderBytes) == first.substr(kIndexHeaderBytes));
  CHECK_FALSE(opened(file, state).made());
  CHECK(TempFolder::read(index_file) == refreshed);
}

TEST_CASE("FileIndex: is made anew when the file grew or has other content of the same size") {
  const TempFolder folder;
  const std::string state = folder.path("state");
  const std::string text = records(1000);
  const std::string file = folder.write("a.jsonl", text);
  const std::uint64_t content = opened(file, state).content();

  folder.write("a.jsonl", text + "{}");
  FileIndex index = opened(file, state);
  CHECK(index.made());
  CHECK(index.entries().size() == 1001);

  std::string other = text + "{}";
  other[other.find('\n')] = ' ';  // two records become one line
  folder.write("a.jsonl", other);
  touch(file);
  index = opened(file, state);
  CHECK(index.made());
  CHECK(index.entries().size() == 1000);
  CHECK(index.content() != content);
}

TEST_CASE("FileIndex: a change anywhere in a small file, and at the ends of a large one, is seen") {
  const TempFolder folder;
  const std::string state = folder.path("state");
  for (const int n : {100, 30000}) {
    const std::string text = records(n);
    const std::string file = folder.write("a.jsonl", text);
    const std::uint64_t content = opened(file, state).content();
    std::vector<std::size_t> places = {1, text.size() - 3};
    if (text.size() <= 128 << 10) places.push_back(text.size() / 2);
    for (const std::size_t at : places) {
      std::string changed = text;
      changed[at] ^= 1;
      folder.write("a.jsonl", changed);
      touch(file);
      CHECK(opened(file, state).content() != content);
    }
  }
}

TEST_CASE("FileIndex: a torn or foreign index file is made anew") {
  const TempFolder folder;
  const std::string state = folder.path("state");
  const std::string file = folder.write("a.jsonl", records(40));
  const std::string index_file = path_of(file, state);
  const FileIndex index = opened(file, state);
  const std::vector<IndexEntry> right(index.entries().begin(), index.entries().end());
  const std::string whole = TempFolder::read(index_file);
  auto mended = [&](const std::string& bytes) {
    fs::remove(index_file);  // what is mapped above must not shrink
    std::ofstream(index_file, std::ios::binary) << bytes;
    const FileIndex again = opened(file, state);
    return again.made() && same(again, right);
  };
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK(mended(whole.substr(0, size)));
  CHECK(mended(whole + "x"));
  CHECK(mended(whole + std::string(16, '\0')));
  CHECK(mended(std::string(whole.size(), '\0')));
  CHECK(
      mended("this is somebody's letter, long enough to be taken for a header, which has 88 bytes, "
             "and then some"));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    CHECK(mended(flipped));
  }
}

TEST_CASE("FileIndex: what a process left behind that died while it made an index is no trouble") {
  const TempFolder folder;
  const std::string state = folder.path("state");
  const std::string file = folder.write("a.jsonl", records(3));
  fs::create_directories(state + "/index");
  std::ofstream(path_of(file, state) + ".new") << std::string(5000, 'x');
  CHECK(opened(file, state).entries().size() == 3);
}

TEST_CASE("FileIndex: of several that open a file at once, one makes the index") {
  const TempFolder folder;
  const std::string file = folder.write("a.jsonl", records(50000));
  for (int round = 0; round < 5; ++round) {
    const std::string state = folder.path("state" + std::to_string(round));
    std::atomic<int> made = 0, right = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const auto index = FileIndex::open(file, state, lines());
        if (!index) return;
        made += index->made() ? 1 : 0;
        right += index->entries().size() == 50000 ? 1 : 0;
      });
    }
    for (std::thread& t : threads) t.join();
    CHECK(made == 1);
    CHECK(right == 4);
  }
}

TEST_CASE(
    "FileIndex: a disk without room is an error that names the file, and leaves none behind") {
  const TempFolder folder;
  const std::string state = folder.path("state");
  const std::string file = folder.write("a.jsonl", records(100000));
  // A limit on the size of files fails writes as a full disk does.
  struct rlimit before = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct rlimit small = before;
  small.rlim_cur = 4096;
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto index = FileIndex::open(file, state, lines());
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);

  REQUIRE_FALSE(index.has_value());
  CHECK(index.error().code == ExitCode::kWrongJob);  // its `state`
  CHECK(index.error().text.find("the index of " + file + " could not be made: ") == 0);
  CHECK(index.error().text.find("make room there, or name another state folder") !=
        std::string::npos);
  CHECK_FALSE(fs::exists(path_of(file, state) + ".new"));
  CHECK(opened(file, state).entries().size() == 100000);
}

TEST_CASE("FileIndex: a state folder that cannot be made is an error that names it") {
  const TempFolder folder;
  const std::string file = folder.write("a.jsonl", "{}");
  const auto index = FileIndex::open(file, folder.write("state", "a file"), lines());
  REQUIRE_FALSE(index.has_value());
  CHECK(index.error().code == ExitCode::kWrongJob);
  CHECK(index.error().text.find(folder.path("state") + "/index cannot be made: ") == 0);
}

TEST_CASE("FileIndex: ways of reading a file have an index each; another variant is made anew") {
  const TempFolder folder;
  const std::string state = folder.path("state");
  const std::string file = folder.write("a.jsonl", records(10));
  CHECK(opened(file, state).made());
  IndexRecipe other = lines();
  other.name = "others";
  CHECK(FileIndex::open(file, state, other)->made());
  CHECK_FALSE(FileIndex::open(file, state, other)->made());
  CHECK_FALSE(opened(file, state).made());
  other.variant = 1;
  CHECK(FileIndex::open(file, state, other)->made());
  CHECK_FALSE(FileIndex::open(file, state, other)->made());
}

TEST_CASE("FileIndex: keeps the restart points and the size of the content") {
  const TempFolder folder;
  const std::string file = folder.write("a", "packed");
  RestartPoints points;
  points.add({0, 0});
  points.add({3, RestartPoints::kNear});
  const IndexRecipe recipe{"packed", 7, [&](const StreamFile&, IndexWriter& out) {
                             out.set_restart_points(points);
                             out.set_bytes(12345);
                             const IndexEntry entry{1, 2, 3};
                             return out.add({&entry, 1});
                           }};
  for (const bool made : {true, false}) {
    const FileIndex index = FileIndex::open(file, folder.path("state"), recipe).value();
    CHECK(index.made() == made);
    CHECK(same(index, {{1, 2, 3}}));
    CHECK(index.bytes() == 12345);
    REQUIRE(index.restart_points().size() == 2);
    CHECK(index.restart_points()[1] == RestartPoint{3, RestartPoints::kNear});
  }
}

#include "lib/corpus/source.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/random.h"
#include "tests/unit/temp_folder.h"

using namespace packline;
using packline::test::TempFolder;
namespace fs = std::filesystem;

namespace {

Result<std::unique_ptr<Source>> open_files(const TempFolder& folder,
                                           std::vector<std::string> files) {
  SourceSettings settings;
  settings.pattern = "*.jsonl";
  settings.files = std::move(files);
  return Source::open(settings, folder.path("state"));
}

std::unique_ptr<Source> opened(const TempFolder& folder, std::vector<std::string> files) {
  auto source = open_files(folder, std::move(files));
  REQUIRE_MESSAGE(source.has_value(), (source ? "" : source.error().text));
  return std::move(*source);
}

// The records of a file with this content.
std::vector<std::string> records_of(std::string_view content) {
  const TempFolder folder;
  const auto source = opened(folder, {folder.write("a.jsonl", content)});
  std::vector<std::string> out;
  std::string scratch;
  for (std::uint64_t i = 0; i < source->records(); ++i) {
    const auto record = source->read(i, scratch);
    REQUIRE_MESSAGE(record.has_value(), (record ? "" : record.error().text));
    out.emplace_back(record->bytes);
  }
  return out;
}

std::string error_of(const TempFolder& folder, const std::string& file) {
  const auto source = open_files(folder, {file});
  REQUIRE_FALSE(source.has_value());
  CHECK(source.error().code == ExitCode::kDataRefused);
  return source.error().text;
}

using Lines = std::vector<std::string>;

// Written to be obviously right: what records a file has.
Lines naive_records(const std::string& content) {
  Lines out;
  std::string rest = content.substr(content.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  while (!rest.empty()) {
    const std::size_t lf = rest.find('\n');
    std::string line = rest.substr(0, lf);
    rest = lf == std::string::npos ? "" : rest.substr(lf + 1);
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (line.back() == '\r') line.pop_back();
    out.push_back(line);
  }
  return out;
}

}  // namespace

TEST_CASE("Source: LF, CRLF and no final newline give the same records") {
  const Lines two = {"{\"a\":1}", "{\"b\":2}"};
  CHECK(records_of("{\"a\":1}\n{\"b\":2}\n") == two);
  CHECK(records_of("{\"a\":1}\r\n{\"b\":2}\r\n") == two);
  CHECK(records_of("{\"a\":1}\n{\"b\":2}") == two);
  CHECK(records_of("{\"a\":1}\r\n{\"b\":2}\r") == two);
}

TEST_CASE("Source: a byte order mark at the file's start is not part of the first record") {
  CHECK(records_of("\xEF\xBB\xBF{\"a\":1}\n{}") == Lines{"{\"a\":1}", "{}"});
  CHECK(records_of("\xEF\xBB\xBF\n{}") == Lines{"{}"});
  CHECK(records_of("\xEF\xBB\xBF").empty());
  CHECK(records_of("{}\n\xEF\xBB\xBF{}") == Lines{"{}", "\xEF\xBB\xBF{}"});  // elsewhere it is
}

TEST_CASE("Source: lines of spaces, tabs and CR are no records, and do count as lines") {
  CHECK(records_of("\n \n\t\r\n\r\n{}\n  \n").size() == 1);
  CHECK(records_of("\n\n\n").empty());
  CHECK(records_of("").empty());
  CHECK(records_of(" {} \n") == Lines{" {} "});
  const TempFolder folder;
  const std::string file = folder.write("a.jsonl", "\n \r\n{}\n\n{}");
  const auto source = opened(folder, {file});
  CHECK(source->where(0) == file + ":3");
  CHECK(source->where(1) == file + ":5");
}

TEST_CASE("Source: bad UTF-8 and NUL are bytes like others here") {
  const std::string bad("{\"\xFF\0\"}\n{}", 9);
  CHECK(records_of(bad) == Lines{std::string("{\"\xFF\0\"}", 6), "{}"});
}

TEST_CASE("Source: a line of 3 MB is read whole, and so are the short ones around it") {
  const std::string text(3000000, 'x');
  CHECK(records_of("{}\n\"" + text + "\"\r\n{}") == Lines{"{}", "\"" + text + "\"", "{}"});
}

TEST_CASE("Source: random files have the records that a naive reader finds in them") {
  Rng rng(7);
  for (int round = 0; round < 30; ++round) {
    std::string content = round % 3 == 0 ? "\xEF\xBB\xBF" : "";
    const std::size_t size = round < 20 ? rng.below(200) : 600000 + rng.below(1000);
    const std::uint64_t rarity = round < 20 ? 3 : 20000;  // of line ends: lines cross reads
    while (content.size() < size) {
      content += rng.below(rarity) == 0 ? '\n' : "x \t\r"[rng.below(4)];
    }
    CHECK(records_of(content) == naive_records(content));
  }
}

TEST_CASE("Source: records are numbered through all files, empty ones among them") {
  const TempFolder folder;
  std::vector<std::string> files;
  std::vector<std::string> expected;
  for (int f = 0; f < 300; ++f) {  // more than stay open at once
    std::string content;
    for (int i = 0; i < f % 4; ++i) {
      expected.push_back(fmt::format("{{\"f\":{},\"i\":{}}}", f, i));
      content += expected.back() + "\n";
    }
    files.push_back(folder.write(fmt::format("f{}", f), content));
  }
  const auto source = opened(folder, files);
  REQUIRE(source->records() == expected.size());
  std::string scratch;
  Rng rng(3);
  for (int n = 0; n < 2000; ++n) {
    const std::uint64_t i = rng.below(expected.size());
    const auto record = source->read(i, scratch);
    REQUIRE(record.has_value());
    CHECK(record->bytes == expected[i]);
    CHECK(source->where(i) == fmt::format("{}:{}", files[record->file], record->line));
  }
}

TEST_CASE("Source: several threads read at once, each with its own scratch") {
  const TempFolder folder;
  std::string content;
  for (int i = 0; i < 1000; ++i) content += fmt::format("{{\"i\":{}}}\n", i);
  const auto source = opened(folder, {folder.write("a.jsonl", content)});
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      std::string scratch;
      for (std::uint64_t i = 0; i < 1000; ++i) {
        const auto record = source->read(i, scratch);
        right += record && record->bytes == fmt::format("{{\"i\":{}}}", i) ? 1 : 0;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(right == 3000);
}

TEST_CASE("Source: a file that was cut, rewritten or replaced while in use is an error") {
  const TempFolder folder;
  const std::string content = "{\"a\":1}\n{\"b\":2}\n{\"c\":3}";
  const std::string file = folder.write("a.jsonl", content);
  std::string scratch;
  auto error_at = [&](const Source& source, std::uint64_t i) {
    const auto record = source.read(i, scratch);
    return record ? "" : record.error().text;
  };

  auto source = opened(folder, {file});
  REQUIRE(source->read(2, scratch).has_value());
  fs::resize_file(file, 12);
  CHECK(source->read(0, scratch).has_value());
  CHECK(error_at(*source, 1).find(file + ":2: the file was cut or changed") == 0);
  CHECK(error_at(*source, 2).find(file + ":3: the file was cut or changed") == 0);
  fs::resize_file(file, 0);
  CHECK(error_at(*source, 0).find(file + ":1: the file was cut or changed") == 0);

  folder.write("a.jsonl", content);
  source = opened(folder, {file});
  REQUIRE(source->read(0, scratch).has_value());
  folder.write("a.jsonl", "{\"a\": 1}\n{\"b\":2}{\"c\":3}");
  CHECK(error_at(*source, 0).find("changed") != std::string::npos);

  folder.write("a.jsonl", content);
  source = opened(folder, {file});
  fs::rename(folder.write("other", content), file);
  CHECK(error_at(*source, 0).find(file + " was replaced or cut while it was in use") == 0);
}

TEST_CASE("Source: what cannot be read from any place is refused by name") {
  const TempFolder folder;
  const std::string none = folder.path("none.jsonl");
  CHECK(error_of(folder, none) == none + " cannot be opened: No such file or directory");
  const std::string dir = folder.path("");
  CHECK(error_of(folder, dir).find(dir + " is not a regular file") == 0);
  const std::string pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(error_of(folder, pipe).find(pipe + " is not a regular file") == 0);
  const std::string gzip = folder.write("a.jsonl.gz", "\x1F\x8B\x08 and more");
  CHECK(error_of(folder, gzip).find(gzip + " is compressed by gzip: unpack it first") !=
        std::string::npos);
  const auto nothing = open_files(folder, {});
  REQUIRE_FALSE(nothing.has_value());
  CHECK(nothing.error().code == ExitCode::kWrongJob);
}

TEST_CASE("Source: its content hash depends on what its files hold, not on where they are") {
  const TempFolder folder;
  const std::string a = folder.write("a", "{}\n{}"), b = folder.write("b", "{}\n{}");
  const std::string c = folder.write("c", "{}\n{ }");
  CHECK(opened(folder, {a})->content_hash() == opened(folder, {b})->content_hash());
  CHECK(opened(folder, {a})->content_hash() != opened(folder, {c})->content_hash());
  CHECK(opened(folder, {a, c})->content_hash() != opened(folder, {c, a})->content_hash());
}

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
#include "tests/unit/corpus/packing.h"
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

namespace {

// What read_as and shuffle make of files.
struct Way {
  ReadAs read_as = ReadAs::kAuto;
  ShuffleSettings shuffle;
};

Result<std::unique_ptr<Source>> open_as(const TempFolder& folder, std::vector<std::string> files,
                                        const Way& way, const Say& say = {}) {
  SourceSettings settings;
  settings.pattern = "*";
  settings.files = std::move(files);
  settings.read_as = way.read_as;
  return Source::open(settings, folder.path("state"), way.shuffle, say);
}

struct Read {
  std::string bytes, where;
  RecordForm form;
  bool operator==(const Read&) const = default;
};

std::vector<Read> all_of(const Source& source) {
  std::vector<Read> out;
  std::string scratch;
  for (std::uint64_t i = 0; i < source.records(); ++i) {
    const auto record = source.read(i, scratch);
    REQUIRE_MESSAGE(record.has_value(), (record ? "" : record.error().text));
    out.push_back({std::string(record->bytes), source.where(i), record->form});
  }
  return out;
}

std::vector<Read> read_as(const TempFolder& folder, const std::string& file, const Way& way = {}) {
  auto source = open_as(folder, {file}, way);
  REQUIRE_MESSAGE(source.has_value(), (source ? "" : source.error().text));
  return all_of(**source);
}

Lines bytes_of(const std::vector<Read>& reads) {
  Lines out;
  for (const Read& r : reads) out.push_back(r.bytes);
  return out;
}

std::string refusal(const TempFolder& folder, const std::string& file, const Way& way,
                    ExitCode code = ExitCode::kDataRefused) {
  const auto source = open_as(folder, {file}, way);
  REQUIRE_FALSE(source.has_value());
  CHECK(source.error().code == code);
  return source.error().text;
}

const ShuffleSettings kInOrder = {ShuffleKind::kNone, 0};

}  // namespace

TEST_CASE("Source: packed JSONL has the records of the plain file, unpacked or read as it is") {
  const TempFolder folder;
  const std::string texts[] = {"", "\n", "\xEF\xBB\xBF{\"a\":1}\r\n\r\n{\"b\":2}", "{}\n{}\n",
                               "{}\n\"" + std::string(3000000, 'x') + "\"\r\n{}"};
  for (const std::string& text : texts) {
    const Lines plain = bytes_of(read_as(folder, folder.write("a.jsonl", text)));
    for (const ShuffleSettings& shuffle : {ShuffleSettings{}, kInOrder}) {
      const Way way{ReadAs::kAuto, shuffle};
      const std::string gz = folder.write("a.jsonl.gz", test::gzip(text));
      const std::string zst = folder.write("a.jsonl.zst", test::zstd(text));
      CHECK(bytes_of(read_as(folder, gz, way)) == plain);
      CHECK(bytes_of(read_as(folder, zst, way)) == plain);
      for (const Read& r : read_as(folder, gz, way)) CHECK(r.where.starts_with(gz + ":"));
    }
  }
}

TEST_CASE("Source: packed files give in any order what they give in order") {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += fmt::format("{{\"i\":{}}}\n", i);
  const auto pack_gzip = [](std::string_view t) { return test::gzip(t); };
  const std::vector<std::string> files = {
      folder.write("a.jsonl.gz", test::packed_in_pieces(text, 33333, pack_gzip)),
      folder.write("b.jsonl.zst", test::zstd(text, false)), folder.write("c.jsonl", text)};
  const auto source = open_as(folder, files, {ReadAs::kAuto, kInOrder});
  REQUIRE(source.has_value());
  const std::vector<Read> expected = all_of(**source);
  REQUIRE(expected.size() == 60000);
  Rng rng(9);
  std::string scratch;
  for (int n = 0; n < 3000; ++n) {
    const std::uint64_t i = rng.below(expected.size());
    const auto record = (*source)->read(i, scratch);
    REQUIRE(record.has_value());
    REQUIRE(record->bytes == expected[i].bytes);
    REQUIRE(record->file == i / 20000);
  }
}

TEST_CASE("Source: the fingerprint's content is the packed file's, however it is read") {
  const TempFolder folder;
  const std::string gz = folder.write("a.jsonl.gz", test::gzip("{}\n"));
  const auto full = open_as(folder, {gz}, {}),
             none = open_as(folder, {gz}, {ReadAs::kAuto, kInOrder});
  REQUIRE((full && none));
  CHECK((*full)->content_hash() == (*none)->content_hash());
  const std::string other = folder.write("b.jsonl.gz", test::gzip("{ }\n"));
  CHECK((*open_as(folder, {other}, {}))->content_hash() != (*full)->content_hash());
}

TEST_CASE("Source: a damaged packed file is refused by name, unpacked or read as it is") {
  const TempFolder folder;
  const std::string whole = test::gzip(std::string(10000, '\n'));
  const std::string file = folder.write("a.jsonl.gz", whole.substr(0, whole.size() - 3));
  for (const ShuffleSettings& shuffle : {ShuffleSettings{}, kInOrder}) {
    CHECK(refusal(folder, file, {ReadAs::kAuto, shuffle}).find(file + " ends at byte ") !=
          std::string::npos);
  }
}

TEST_CASE("Source: a JSON array has a record an element, with the line where it begins") {
  const TempFolder folder;
  const std::string text = "\xEF\xBB\xBF[\r\n  {\"a\": \"]\"},\n  {\n    \"b\": 2\n  }]\n";
  const std::string file = folder.write("a.json", text);
  const std::vector<Read> plain = read_as(folder, file);
  CHECK(plain == std::vector<Read>{{"{\"a\": \"]\"}", file + ":2", RecordForm::kJson},
                                   {"{\n    \"b\": 2\n  }", file + ":3", RecordForm::kJson}});
  const std::string gz = folder.write("b.json.gz", test::gzip(text));
  CHECK(bytes_of(read_as(folder, gz)) == bytes_of(plain));
  CHECK(bytes_of(read_as(folder, gz, {ReadAs::kAuto, kInOrder})) == bytes_of(plain));
  CHECK(read_as(folder, folder.write("e.json", "[]")).empty());
  CHECK(read_as(folder, folder.write("e.json", "")).empty());
}

TEST_CASE("Source: a .json that begins with no bracket is JSONL, unless the job says it is none") {
  const TempFolder folder;
  const std::string file = folder.write("a.json", " \n{\"a\":1}\n{\"b\":2}\n");
  CHECK(bytes_of(read_as(folder, file)) == Lines{"{\"a\":1}", "{\"b\":2}"});
  CHECK(refusal(folder, file, {ReadAs::kJson, {}}).find(file + ":2: the file begins with '{'") !=
        std::string::npos);
  const std::string array = folder.write("b.jsonl", "[{\"a\":1}]");
  CHECK(bytes_of(read_as(folder, array, {ReadAs::kJson, {}})) == Lines{"{\"a\":1}"});
  const std::string late = folder.write("c.json", std::string(10000, ' ') + "[{}]");
  CHECK(bytes_of(read_as(folder, late)) == Lines{"{}"});
}

TEST_CASE("Source: an array that is rewritten while in use is told") {
  const TempFolder folder;
  const std::string file = folder.write("a.json", "[{\"a\":1}, {\"b\":2}]");
  const auto source = open_as(folder, {file}, {});
  REQUIRE(source.has_value());
  folder.write("a.json", "[{\"a\":1234567, \"b\":2}]");
  std::string scratch;
  const auto record = (*source)->read(0, scratch);
  REQUIRE_FALSE(record.has_value());
  CHECK(record.error().text.find(file + ":1: the file was cut or changed") == 0);
}

TEST_CASE("Source: plain text has a record a line, or is one") {
  const TempFolder folder;
  const std::string text = "\xEF\xBB\xBFone\r\n\n  two \nthree";
  for (const bool packed : {false, true}) {
    const std::string file =
        packed ? folder.write("a.txt.gz", test::gzip(text)) : folder.write("a.txt", text);
    CHECK(read_as(folder, file) == std::vector<Read>{{"one", file + ":1", RecordForm::kText},
                                                     {"  two ", file + ":3", RecordForm::kText},
                                                     {"three", file + ":4", RecordForm::kText}});
    CHECK(read_as(folder, file, {ReadAs::kFiles, {}}) ==
          std::vector<Read>{{"one\r\n\n  two \nthree", file + ":1", RecordForm::kText}});
  }
}

TEST_CASE("Source: files that are records are numbered through; empty ones are none") {
  const TempFolder folder;
  const std::string large(5000000, 'x');
  const std::vector<std::string> files = {
      folder.write("a", "one\n"), folder.write("b", ""), folder.write("c.gz", test::gzip("")),
      folder.write("d.zst", test::zstd(large)), folder.write("e", large)};
  const auto source = open_as(folder, files, {ReadAs::kFiles, {}});
  REQUIRE(source.has_value());
  CHECK(bytes_of(all_of(**source)) == Lines{"one\n", large, large});
  std::string scratch;
  CHECK((*source)->read(1, scratch)->file == 3);
  CHECK((*source)->read(0, scratch)->bytes == "one\n");
  fs::resize_file(folder.path("e"), 10);
  REQUIRE_FALSE((*source)->read(2, scratch).has_value());
}

TEST_CASE("Source: a format that the files cannot have is the job's mistake") {
  const TempFolder folder;
  SourceSettings settings;
  settings.files = {folder.write("a.txt", "one")};
  settings.format = Format::kChat;
  const auto source = Source::open(settings, folder.path("state"));
  REQUIRE_FALSE(source.has_value());
  CHECK(source.error().code == ExitCode::kWrongJob);
  CHECK(source.error().text.find(settings.files[0] + ": read_as: lines gives plain text") == 0);
  const std::string packed = folder.write("a.bin.gz", test::gzip("x"));
  settings.files = {packed};
  settings.format = Format::kTokens;
  CHECK(Source::open(settings, folder.path("state"))
            .error()
            .text.find(packed + " does not end in .idx or .bin") == 0);
}

TEST_CASE("Source: a block that is more than is kept of a packed file is refused, with ways out") {
  const TempFolder folder;
  const std::string line = "\"" + std::string(1 << 20, 'x') + "\"\n";
  std::string text;
  for (int i = 0; i < 250; ++i) text += line;
  const std::string one = folder.write("a.jsonl.zst", test::zstd(text));
  const ShuffleSettings large = {ShuffleKind::kBuffer, 200}, fits = {ShuffleKind::kBuffer, 150};
  const std::string told = refusal(folder, one, {ReadAs::kAuto, large}, ExitCode::kWrongJob);
  CHECK(told.find("shuffle.size: 200 records of " + one + " are about 200.0 MiB unpacked") == 0);
  CHECK(told.find("set shuffle.size: 191 or less, or shuffle.kind: full") != std::string::npos);
  CHECK(open_as(folder, {one}, {ReadAs::kAuto, fits}).has_value());
  // In frames that can be unpacked on their own it costs little.
  const auto pack = [](std::string_view t) { return test::zstd(t); };
  const std::string frames =
      folder.write("b.jsonl.zst", test::packed_in_pieces(text, 16 << 20, pack));
  CHECK(open_as(folder, {frames}, {ReadAs::kAuto, large}).has_value());
}

TEST_CASE("Source: a packed file is unpacked for a full shuffle only, which is said") {
  const TempFolder folder;
  const std::string gz = folder.write("a.jsonl.gz", test::gzip("{}\n"));
  std::vector<std::string> said;
  const Say say = [&](const std::string& text) { said.push_back(text); };
  REQUIRE(open_as(folder, {gz}, {ReadAs::kAuto, kInOrder}, say).has_value());
  CHECK(said.empty());
  CHECK_FALSE(fs::exists(folder.path("state/unpacked")));
  REQUIRE(open_as(folder, {gz}, {}, say).has_value());
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("unpacks " + gz) == 0);
}

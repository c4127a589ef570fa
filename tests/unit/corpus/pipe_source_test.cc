#include "lib/corpus/pipe_source.h"

#include <fmt/format.h>

#include <vector>

#include "tests/unit/corpus/packing.h"
#include "tests/unit/pipe_writer.h"
#include "tests/unit/temp_folder.h"

namespace packline {
namespace {

using test::make_pipe;
using test::PipeWriter;
using test::TempFolder;

constexpr std::uint64_t kPlenty = std::uint64_t{64} << 20;

SourceSettings settings_of(const std::string& file, ReadAs read_as) {
  SourceSettings settings;
  settings.pattern = file;
  settings.files = {file};
  settings.read_as = read_as;
  return settings;
}

struct Piped {
  explicit Piped(const std::string& text, ReadAs read_as = ReadAs::kAuto,
                 std::uint64_t kept = kPlenty, const std::string& name = "p",
                 std::uint64_t seed = 1)
      : path(make_pipe(folder.path(name))),
        writer(path, text, seed),
        source(std::move(*PipeSource::open(settings_of(path, read_as), folder.path(), kept))) {}

  TempFolder folder;
  std::string path;
  PipeWriter writer;
  std::unique_ptr<PipeSource> source;
  std::string scratch;

  std::string record(std::uint64_t i) {
    const auto raw = source->read(i, scratch);
    REQUIRE(raw.has_value());
    return std::string(raw->bytes);
  }
};

// Every record as "line form bytes".
std::vector<std::string> every_record(const Source& source) {
  std::vector<std::string> out;
  std::string scratch;
  for (std::uint64_t i = 0; i < source.records(); ++i) {
    const auto raw = source.read(i, scratch);
    REQUIRE(raw.has_value());
    out.push_back(
        fmt::format("{} {} {}", raw->line, static_cast<int>(raw->form), std::string(raw->bytes)));
  }
  return out;
}

std::string random_lines(Rng& rng) {
  std::string text = rng.below(3) == 0 ? "\xEF\xBB\xBF" : "";
  for (std::uint64_t n = rng.below(200); n > 0; --n) {
    if (rng.below(6) == 0) {
      text += rng.below(2) == 0 ? "\r" : " \t ";
    } else {
      text += std::string(1 + (rng.below(20) == 0 ? rng.below(300'000) : rng.below(80)), 'x');
      if (rng.below(4) == 0) text += '\r';
    }
    if (n > 1 || rng.below(2) == 0) text += '\n';
  }
  return text;
}

std::string random_array(Rng& rng) {
  std::string text = rng.below(2) == 0 ? " \n[" : "[";
  for (std::uint64_t n = rng.below(100); n > 0; --n) {
    text +=
        fmt::format("{{\"text\": \"{}]\\\"\",\n \"n\": [{}]}}", std::string(rng.below(60), 'y'), n);
    text += n > 1 ? " ,\n" : "\n";
  }
  return text + "]\n";
}

TEST_CASE("PipeSource: its records are those of a file with the same bytes") {
  std::size_t records = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const ReadAs read_as = seed % 3 == 0   ? ReadAs::kJsonl
                           : seed % 3 == 1 ? ReadAs::kLines
                                           : ReadAs::kJson;
    const std::string text = read_as == ReadAs::kJson ? random_array(rng) : random_lines(rng);
    Piped pipe(text, read_as, kPlenty, "p", seed);
    const std::string file = pipe.folder.write("file", text);
    const auto same = Source::open(settings_of(file, read_as), pipe.folder.path("state"));
    REQUIRE(same.has_value());
    for (std::uint64_t wanted = 1;; wanted += rng.below(50)) {
      const auto reach = pipe.source->reach(wanted, 0, true);
      REQUIRE(reach.has_value());
      REQUIRE((reach->records >= wanted || reach->all));
      if (reach->all) break;
    }
    REQUIRE(pipe.source->records() == (*same)->records());
    REQUIRE(every_record(*pipe.source) == every_record(**same));
    for (std::uint64_t i = 0; i < pipe.source->records(); ++i) {
      REQUIRE(pipe.source->where(i).substr(pipe.path.size()) ==
              (*same)->where(i).substr(file.size()));
    }
    records += pipe.source->records();
  }
  CHECK(records > 2000);
}

TEST_CASE("PipeSource: auto goes by the name, and of a .json by its first byte") {
  Piped array("[{\"a\": 1}, {\"b\": 2}]", ReadAs::kAuto, kPlenty, "p.json");
  CHECK(array.source->reach(9, 0, true)->records == 2);
  CHECK(array.record(1) == "{\"b\": 2}");
  Piped lines("\n {\"a\": 1}\n{\"b\": 2}", ReadAs::kAuto, kPlenty, "p.json");
  CHECK(lines.source->reach(9, 0, true)->records == 2);
  CHECK(lines.source->where(1) == lines.path + ":3");
  Piped text("one\ntwo", ReadAs::kAuto, kPlenty, "p.txt");
  CHECK(text.source->reach(9, 0, true)->records == 2);
  CHECK(text.source->read(0, text.scratch)->form == RecordForm::kText);
}

TEST_CASE("PipeSource: nothing at all is no record") {
  Piped pipe("");
  const auto reach = pipe.source->reach(1, 0, true);
  REQUIRE(reach.has_value());
  CHECK(reach->records == 0);
  CHECK(reach->all);
}

TEST_CASE("PipeSource: a short first record is there before a second one comes") {
  const TempFolder folder;
  const std::string path = make_pipe(folder.path("p"));
  const auto source = PipeSource::open(settings_of(path, ReadAs::kAuto), folder.path(), kPlenty);
  REQUIRE((*source)->reach(1, 0, false)->records == 0);
  const int writer = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(::write(writer, "{}\n{", 4) == 4);
  CHECK((*source)->reach(5, 0, false)->records == 1);
  ::close(writer);
  CHECK((*source)->reach(5, 0, true)->records == 2);
}

TEST_CASE("PipeSource: what is packed is refused with what to do") {
  for (const std::string& packed : {test::gzip("{\"text\": \"a\"}\n"), test::zstd("{}\n")}) {
    Piped pipe(packed);
    const auto refused = pipe.source->reach(1, 0, true);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ExitCode::kDataRefused);
    CHECK(refused.error().text.find("unpack it on its way, as in `z") != std::string::npos);
  }
}

TEST_CASE("PipeSource: an array that does not end is refused by its line") {
  Piped pipe("[\n{\"a\": 1},\n{\"a\": 2}", ReadAs::kJson);
  const auto refused = pipe.source->reach(9, 0, true);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ExitCode::kDataRefused);
  CHECK(refused.error().text.starts_with(pipe.path + ":3: "));
}

// L6: "Memory is bounded by configuration."
TEST_CASE("PipeSource: beyond its memory the oldest are let go, and are not to be had again") {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += fmt::format("{:0>1000}\n", i);
  Piped pipe(text, ReadAs::kLines, 100'000);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    REQUIRE(pipe.source->reach(i + 1, i, true)->records > i);
    REQUIRE(pipe.record(i) == fmt::format("{:0>1000}", i));
    REQUIRE(pipe.source->bytes_kept() < 100'000 + (2U << 20U));
  }
  CHECK(pipe.source->kept_from() > 15'000);
  const auto gone = pipe.source->read(0, pipe.scratch);
  REQUIRE_FALSE(gone.has_value());
  CHECK(gone.error().code == ExitCode::kDataRefused);
  CHECK(gone.error().text == fmt::format("record 0 of the pipe {} is not kept any more, and a pipe "
                                         "cannot go back",
                                         pipe.path));
  CHECK(pipe.source->where(0) == pipe.path + ":record 0");
}

TEST_CASE("PipeSource: a block that is larger than its memory is refused with a size that is not") {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += fmt::format("{:0>1000}\n", i);
  Piped pipe(text, ReadAs::kLines, 1'000'000);
  const auto refused = pipe.source->reach(20'000, 0, true);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ExitCode::kDataRefused);
  CHECK(refused.error().text.find("blocks of shuffle.size: 20000 are read as a whole: set it to") !=
        std::string::npos);
}

TEST_CASE("PipeSource: what is forgotten costs nothing") {
  Piped pipe("a\nb\nc\n", ReadAs::kLines);
  REQUIRE(pipe.source->reach(9, 0, true)->records == 3);
  pipe.source->forget(2);
  CHECK(pipe.source->kept_from() == 2);
  CHECK(pipe.source->records() == 3);
  CHECK(pipe.record(2) == "c");
  pipe.source->forget(9);
  CHECK(pipe.source->bytes_kept() == 0);
  CHECK(pipe.source->records() == 3);
}

}  // namespace
}  // namespace packline

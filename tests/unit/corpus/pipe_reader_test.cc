#include "lib/corpus/pipe_reader.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <future>

#include "tests/unit/pipe_writer.h"
#include "tests/unit/temp_folder.h"

namespace packline {
namespace {

using test::make_pipe;

struct Pipe {
  test::TempFolder folder;
  std::string path = make_pipe(folder.path("p"));
  std::array<char, 4096> buffer;

  PipeReader reader() const { return {path, folder.path()}; }
  Result<PipeReader::Got> read(PipeReader& from, bool wait) {
    return from.read(buffer.data(), buffer.size(), wait);
  }
  int write_end() const { return ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC); }
  std::size_t notes() const {
    const std::filesystem::path notes = folder.path("pipes");
    if (!std::filesystem::exists(notes)) return 0;
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(notes), {}));
  }
};

TEST_CASE("PipeReader: before a writer came there is nothing, after it went there is the end") {
  Pipe p;
  PipeReader reader(p.path, p.folder.path());
  const auto nothing = p.read(reader, false);
  REQUIRE(nothing.has_value());
  CHECK(nothing->bytes == 0);
  CHECK_FALSE(nothing->ended);
  CHECK(p.notes() == 1);
  const int writer = p.write_end();
  REQUIRE(writer >= 0);
  REQUIRE(::write(writer, "abc", 3) == 3);
  CHECK(p.read(reader, false)->bytes == 3);
  CHECK(p.read(reader, false)->bytes == 0);
  REQUIRE(::write(writer, "de", 2) == 2);
  ::close(writer);
  CHECK(p.read(reader, true)->bytes == 2);
  CHECK(p.read(reader, true)->ended);
  CHECK(p.read(reader, true)->ended);
  CHECK(p.notes() == 0);
}

TEST_CASE("PipeReader: only a process that reads opens the pipe") {
  Pipe p;
  const PipeReader reader(p.path, p.folder.path());
  CHECK(reader.unread().has_value());
  CHECK(p.write_end() == -1);  // ENXIO: nobody has it open for reading
  CHECK(p.notes() == 0);
}

TEST_CASE(
    "PipeReader: who comes after one that died in the middle is told so, one after the end not") {
  Pipe p;
  int writer = -1;
  {
    PipeReader first(p.path, p.folder.path());
    REQUIRE(p.read(first, false).has_value());
    writer = p.write_end();
    REQUIRE(::write(writer, "abc", 3) == 3);
    REQUIRE(p.read(first, true)->bytes == 3);
  }
  PipeReader second(p.path, p.folder.path());
  const Status refused = second.unread();
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ExitCode::kDataRefused);
  CHECK(refused.error().text.starts_with(fmt::format(
      "the pipe {} was begun by process {} and not read to its end", p.path, getpid())));
  CHECK(p.read(second, false).error().text == refused.error().text);
  for (const auto& note : std::filesystem::directory_iterator(p.folder.path("pipes"))) {
    CHECK(refused.error().text.find("remove " + note.path().string()) != std::string::npos);
    std::filesystem::remove(note.path());
  }
  CHECK(second.unread().has_value());
  REQUIRE(p.read(second, false).has_value());
  ::close(writer);
  CHECK(p.read(second, true)->ended);
  CHECK(PipeReader(p.path, p.folder.path()).unread().has_value());
}

TEST_CASE("PipeReader: a pipe that was made anew is another one") {
  Pipe p;
  {
    PipeReader first(p.path, p.folder.path());
    REQUIRE(p.read(first, false).has_value());
  }
  REQUIRE_FALSE(PipeReader(p.path, p.folder.path()).unread().has_value());
  std::filesystem::rename(p.path, p.path + ".old");  // so that its number is not given again
  make_pipe(p.path);
  CHECK(PipeReader(p.path, p.folder.path()).unread().has_value());
}

TEST_CASE("PipeReader: one process reads it at a time, whatever its state folder") {
  Pipe p;
  PipeReader first(p.path, p.folder.path());
  REQUIRE(p.read(first, false).has_value());
  PipeReader second(p.path, p.folder.path("other"));
  const auto refused = p.read(second, false);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ExitCode::kDataRefused);
  CHECK(refused.error().text == fmt::format("the pipe {} is being read by another process: give "
                                            "each line a pipe of its own",
                                            p.path));
}

// L7: "Any process that waits can say for what, for whom".
TEST_CASE("PipeReader: a wait has a name and can be ended") {
  Pipe p;
  PipeReader reader(p.path, p.folder.path());
  CHECK(reader.waits().empty());
  const auto said = [&](const std::string& what) {
    while (reader.waits().empty()) std::this_thread::yield();
    CHECK(reader.waits() == fmt::format("the pipe {}, {}", p.path, what));
  };
  auto first = std::async(std::launch::async, [&] { return p.read(reader, true); });
  said("to which nothing was written yet");
  const int writer = p.write_end();
  REQUIRE(::write(writer, "abc", 3) == 3);
  REQUIRE(first.get()->bytes == 3);
  auto second = std::async(std::launch::async, [&] { return p.read(reader, true); });
  said("whose writer sends nothing");
  reader.cancel();
  CHECK(second.get().error().code == ExitCode::kTerminated);
  CHECK(reader.waits().empty());
  CHECK(p.read(reader, false).error().code == ExitCode::kTerminated);
  ::close(writer);
}

TEST_CASE("PipeReader: a state folder that cannot be written is said before anything is taken") {
  Pipe p;
  const std::string in_the_way = p.folder.write("file", "");
  PipeReader reader(p.path, in_the_way);
  const auto refused = p.read(reader, false);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ExitCode::kWrongJob);
  CHECK(refused.error().text.find(in_the_way) != std::string::npos);
}

}  // namespace
}  // namespace packline

#include "lib/corpus/unpacked.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/corpus/packing.h"
#include "tests/unit/temp_folder.h"

using namespace packline;
using packline::test::gzip;
using packline::test::TempFolder;
using packline::test::zstd;
namespace fs = std::filesystem;

namespace {

Unpacked unpacked(const std::string& file, const std::string& state,
                  Compression how = Compression::kGzip, const Say& say = {}) {
  auto u = unpack(file, how, state, say);
  REQUIRE_MESSAGE(u.has_value(), (u ? "" : u.error().text));
  return *u;
}

void age(const std::string& file) {
  fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(1));
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("unpack: makes the copy once, and again only when the packed file changes") {
  const TempFolder folder;
  const std::string state = folder.path("state");
  const std::string file = folder.write("a.gz", gzip("{\"a\":1}\n"));
  const Unpacked first = unpacked(file, state);
  CHECK(first.made);
  CHECK(TempFolder::read(first.path) == "{\"a\":1}\n");
  CHECK_FALSE(unpacked(file, state).made);
  age(file);
  const Unpacked touched = unpacked(file, state);
  CHECK_FALSE(touched.made);
  CHECK(touched.content == first.content);
  CHECK_FALSE(unpacked(file, state).made);

  folder.write("a.gz", gzip("{\"a\":2}\n"));  // as long as before
  age(file);
  const Unpacked second = unpacked(file, state);
  CHECK(second.made);
  CHECK(second.path == first.path);
  CHECK(second.content != first.content);
  CHECK(TempFolder::read(second.path) == "{\"a\":2}\n");
}

TEST_CASE("unpack: a copy that is torn, changed or gone, or whose note is, is made anew") {
  const TempFolder folder;
  const std::string state = folder.path("state");
  const std::string text(200000, 'x');
  const std::string file = folder.write("a.zst", zstd(text));
  const std::string copy = unpacked(file, state, Compression::kZstd).path;
  const std::string note = TempFolder::read(copy + ".note");
  const auto mended = [&] {
    const Unpacked again = unpacked(file, state, Compression::kZstd);
    return again.made && TempFolder::read(copy) == text &&
           !unpacked(file, state, Compression::kZstd).made;
  };
  fs::resize_file(copy, 1000);
  CHECK(mended());
  std::ofstream(copy, std::ios::binary) << std::string(200000, 'y');
  CHECK(mended());
  fs::remove(copy);
  CHECK(mended());
  fs::remove(copy + ".note");
  CHECK(mended());
  for (std::size_t at = 0; at < note.size(); ++at) {
    std::string flipped = note;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    std::ofstream(copy + ".note", std::ios::binary) << flipped;
    CHECK(mended());
  }
  std::ofstream(copy + ".note", std::ios::binary) << note.substr(0, note.size() - 1);
  CHECK(mended());
  // Left behind by a process that died.
  fs::remove(copy);
  std::ofstream(copy + ".new") << std::string(500000, 'z');
  CHECK(mended());
}

TEST_CASE("unpack: says first what it unpacks and how large that is") {
  const TempFolder folder;
  std::vector<std::string> said;
  const Say say = [&](const std::string& text) { said.push_back(text); };
  const std::string text(3 << 20, 'x');
  const std::string gz = folder.write("a.gz", gzip(text)), zst = folder.write("a.zst", zstd(text));
  const std::string unsized = folder.write("b.zst", zstd(text, false));
  unpacked(gz, folder.path("state"), Compression::kGzip, say);
  unpacked(zst, folder.path("state"), Compression::kZstd, say);
  unpacked(unsized, folder.path("state"), Compression::kZstd, say);
  REQUIRE(said.size() == 3);
  CHECK(said[0].find("unpacks " + gz + " (") == 0);
  CHECK(says(said[0],
             " of gzip) into " + folder.path("state") + "/unpacked, once, to 3.0 MiB or more; "));
  CHECK(says(said[1], " of zstd) into "));
  CHECK(says(said[1], "to 3.0 MiB or more; "));
  CHECK(says(said[2], "to a size that it does not tell; "));
  CHECK(says(said[2], " are free there"));
  unpacked(gz, folder.path("state"), Compression::kGzip, say);
  CHECK(said.size() == 3);  // what is reused is not said
}

TEST_CASE("unpack: what does not fit the disk is refused before it is written, with ways out") {
  const TempFolder folder;
  const std::string file = folder.write("a.zst", zstd(std::string(5 << 20, 'x')));
  const FreeBytes little = [](const std::string&) -> Result<std::uint64_t> {
    return kFreeKept + (4 << 20);
  };
  const auto u = unpack(file, Compression::kZstd, folder.path("state"), {}, little);
  REQUIRE_FALSE(u.has_value());
  CHECK(u.error().code == ExitCode::kWrongJob);
  CHECK(u.error().text == file + " unpacks to 5.0 MiB or more, and the disk of " +
                              folder.path("state") +
                              "/unpacked has 68.0 MiB free: make room there, name another state "
                              "folder, or set shuffle.kind: buffer or none, which read it packed");
  for (const auto& entry : fs::directory_iterator(folder.path("state") + "/unpacked")) {
    CHECK(entry.path().extension() == ".lock");
  }
}

TEST_CASE("unpack: a disk that fills up while it is written is told, and nothing stays") {
  const TempFolder folder;
  const std::string file =
      folder.write("a.zst", zstd(std::string(80 << 20, 'x'), false));  // its size is not known
  std::uint64_t left = kFreeKept + (40 << 20);
  int asked = 0;
  const FreeBytes shrinking = [&](const std::string&) -> Result<std::uint64_t> {
    if (asked++ > 1) left -= 16 << 20;
    return left;
  };
  const auto u = unpack(file, Compression::kZstd, folder.path("state"), {}, shrinking);
  REQUIRE_FALSE(u.has_value());
  CHECK(u.error().code == ExitCode::kWrongJob);
  CHECK(says(u.error().text, " unpacks to more than 48.0 MiB, and the disk of "));
  for (const auto& entry : fs::directory_iterator(folder.path("state") + "/unpacked")) {
    CHECK(entry.path().extension() == ".lock");
  }

  // And where the write itself fails.
  struct rlimit before = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct rlimit limit = before;
  limit.rlim_cur = 1 << 20;
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const auto full = unpack(file, Compression::kZstd, folder.path("state"), {});
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  REQUIRE_FALSE(full.has_value());
  CHECK(full.error().code == ExitCode::kWrongJob);
  CHECK(says(full.error().text, "make room there, or name another state folder"));
}

TEST_CASE("unpack: a damaged file is refused by name, and leaves no copy") {
  const TempFolder folder;
  const std::string whole = gzip(std::string(100000, 'x'));
  const std::string file = folder.write("a.gz", whole.substr(0, whole.size() - 9));
  const auto u = unpack(file, Compression::kGzip, folder.path("state"), {});
  REQUIRE_FALSE(u.has_value());
  CHECK(u.error().code == ExitCode::kDataRefused);
  CHECK(says(u.error().text, file + " ends at byte "));
  folder.write("a.gz", whole);
  CHECK(unpacked(file, folder.path("state")).made);
}

TEST_CASE("unpack: of several that want the same copy at once, one makes it") {
  const TempFolder folder;
  const std::string text(20 << 20, 'x');
  const std::string file = folder.write("a.gz", gzip(text, 1));
  std::atomic<int> made = 0, right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const auto u = unpack(file, Compression::kGzip, folder.path("state"), {});
      if (!u) return;
      made += u->made ? 1 : 0;
      right += fs::file_size(u->path) == text.size() ? 1 : 0;
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(made == 1);
  CHECK(right == 3);
}

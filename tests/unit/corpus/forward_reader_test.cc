#include "lib/corpus/forward_reader.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/random.h"
#include "tests/unit/corpus/packing.h"
#include "tests/unit/temp_folder.h"

using namespace packline;
using packline::test::gzip;
using packline::test::packed_in_pieces;
using packline::test::TempFolder;
using packline::test::zstd;

namespace {

std::string text_of(std::size_t bytes) {
  Rng rng(bytes);
  std::string text;
  while (text.size() < bytes) text += fmt::format("{} ", rng.below(100000));
  text.resize(bytes);
  return text;
}

ForwardReader::Limits small() {
  ForwardReader::Limits limits;
  limits.piece_bytes = 1000;
  limits.cache_bytes = 10000;
  limits.cursors = 3;
  return limits;
}

struct Packed {
  TempFolder folder;
  std::string text;
  std::vector<RestartPoint> points;
  std::unique_ptr<ForwardReader> reader;

  // The text as `packed`, read once for its restart points.
  Packed(std::string content, const std::string& packed, Compression how, Say say = {})
      : text(std::move(content)) {
    const std::string path = folder.write("a", packed);
    auto fd = open_to_read(path);
    const auto stamp = stamp_of(*fd, path).value();
    const auto stream =
        open_stream({std::make_shared<const Fd>(std::move(*fd)), path, stamp.size}, how);
    std::string all(text.size() + 1, '\0');
    REQUIRE(stream->read(all.data(), all.size()).value() == text.size());
    points = stream->restart_points().all();
    reader = std::make_unique<ForwardReader>(std::move(say), small());
    REQUIRE(reader->add(path, stamp, how, points, text.size()) == 0);
  }

  std::string read(std::uint64_t at, std::size_t size) const {
    std::string out(size, '\0');
    const auto got = reader->read(0, at, out.data(), size);
    REQUIRE_MESSAGE(got.has_value(), (got ? "" : got.error().text));
    out.resize(*got);
    return out;
  }
};

}  // namespace

TEST_CASE("ForwardReader: reads at random places give what stands there") {
  const std::string text = text_of(200000);
  for (const Compression how : {Compression::kGzip, Compression::kZstd}) {
    const Packed p(text, how == Compression::kGzip ? gzip(text) : zstd(text), how);
    Rng rng(2);
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t at = rng.below(text.size());
      const std::size_t size = rng.below(i % 10 == 0 ? 30000 : 200);
      REQUIRE(p.read(at, size) == text.substr(at, size));
    }
    CHECK(p.read(0, text.size() + 5) == text);
    CHECK(p.read(text.size() - 1, 2) == text.substr(text.size() - 1));  // fewer where it ends
    CHECK(p.read(text.size(), 1) == "");
  }
}

TEST_CASE("ForwardReader: reading forwards unpacks everything once") {
  const std::string text = text_of(500000);
  const Packed p(text, gzip(text), Compression::kGzip);
  for (std::uint64_t at = 0; at < text.size(); at += 77) {
    REQUIRE(p.read(at, 78) == text.substr(at, 78));
  }
  CHECK(p.reader->unpacked_bytes() == text.size());
}

TEST_CASE("ForwardReader: lanes further apart than what is kept each have a cursor") {
  const std::string text = text_of(500000);
  const Packed p(text, gzip(text), Compression::kGzip);
  // Three lanes in turns, each window of each as long as ten times what is kept.
  constexpr std::uint64_t kWindow = 100000;
  for (std::uint64_t window = 0; window < text.size() / kWindow; ++window) {
    for (std::uint64_t lane = 0; lane < 3; ++lane) {
      for (std::uint64_t at = window * kWindow + lane * 50; at < (window + 1) * kWindow;
           at += 150) {
        REQUIRE(p.read(at, 50) == text.substr(at, 50));
      }
    }
  }
  CHECK(p.reader->unpacked_bytes() <= 3 * text.size());
}

TEST_CASE("ForwardReader: a block's records in any order cost no second unpacking") {
  const std::string text = text_of(300000);
  const Packed p(text, zstd(text), Compression::kZstd);
  Rng rng(3);
  constexpr std::uint64_t kBlock = 7000;  // what is kept holds it
  for (std::uint64_t from = 0; from + kBlock < text.size(); from += kBlock) {
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t at = from + rng.below(kBlock - 50);
      REQUIRE(p.read(at, 50) == text.substr(at, 50));
    }
  }
  CHECK(p.reader->unpacked_bytes() <= text.size() + 2000);
}

TEST_CASE("ForwardReader: a read far ahead goes on from the nearest restart point") {
  const std::size_t member = 1100000;
  const std::string text = text_of(6 * member);
  for (const bool gz : {true, false}) {
    const Packed p(text,
                   packed_in_pieces(text, member,
                                    [gz](std::string_view t) { return gz ? gzip(t, 1) : zstd(t); }),
                   gz ? Compression::kGzip : Compression::kZstd);
    REQUIRE(p.points.size() == 6);
    const std::uint64_t at = 5 * member + 1000;
    CHECK(p.read(at, 100) == text.substr(at, 100));
    CHECK(p.reader->unpacked_bytes() < 4000);
    CHECK(p.read(2 * member, 100) == text.substr(2 * member, 100));  // and back
    CHECK(p.reader->unpacked_bytes() < member + 8000);
  }
}

TEST_CASE("ForwardReader: several threads read at once") {
  const std::string text = text_of(100000);
  const Packed p(text, zstd(text), Compression::kZstd);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      std::string out(100, '\0');
      for (std::uint64_t at = 0; at + 100 <= text.size(); at += 100) {
        const auto got = p.reader->read(0, at, out.data(), 100);
        right += got && out == text.substr(at, 100) ? 1 : 0;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(right == 3000);
}

TEST_CASE("ForwardReader: a file that was damaged or replaced in use is an error each time") {
  const std::string text = text_of(300000);
  const Packed p(text, gzip(text, 1), Compression::kGzip);
  const std::string path = p.folder.path("a");
  std::string bytes = TempFolder::read(path);
  REQUIRE(bytes.size() > 100000);
  bytes.replace(bytes.size() / 2, 2000, std::string(2000, '\x55'));
  p.folder.write("a", bytes);
  std::string out(100, '\0');
  CHECK(p.read(0, 100) == text.substr(0, 100));
  for (int i = 0; i < 3; ++i) {
    const auto got = p.reader->read(0, text.size() - 200, out.data(), 100);
    REQUIRE_FALSE(got.has_value());
    CHECK(got.error().code == ExitCode::kDataRefused);
    CHECK(got.error().text.find(path + " is damaged") == 0);
  }
}

#include "lib/corpus/byte_stream.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <string>
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

StreamFile stream_file(const std::string& path) {
  auto fd = open_to_read(path);
  REQUIRE(fd.has_value());
  const auto stamp = stamp_of(*fd, path);
  return {std::make_shared<const Fd>(std::move(*fd)), path, stamp->size};
}

// Everything, asked for `step` bytes at a time; or the sentence.
std::string read_all(ByteStream& in, std::size_t step) {
  std::string out, piece(step, '\0');
  for (;;) {
    const auto got = in.read(piece.data(), step);
    if (!got) {
      CHECK(got.error().code == ExitCode::kDataRefused);
      return "error: " + got.error().text;
    }
    out.append(piece, 0, *got);
    if (*got < step) return out;
  }
}

std::string content_of(const TempFolder& folder, std::string_view bytes, std::size_t step = 4096) {
  const std::string path = folder.write("packed", bytes);
  const StreamFile file = stream_file(path);
  const auto how = compression_of(*file.fd, path);
  REQUIRE_MESSAGE(how.has_value(), (how ? "" : how.error().text));
  return read_all(*open_stream(file, *how), step);
}

// Text that packs neither to nothing nor not at all.
std::string some_text(std::size_t bytes, std::uint64_t seed = 1) {
  Rng rng(seed);
  std::string text;
  while (text.size() < bytes) text += fmt::format("{{\"n\":{}}}\n", rng.below(1000000));
  text.resize(bytes);
  return text;
}

bool has_part(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ByteStream: gives the content, packed or not, whatever is asked for at a time") {
  const TempFolder folder;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{70000}}) {
    const std::string text = some_text(size);
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{100000}}) {
      CHECK(content_of(folder, text, step) == text);
      CHECK(content_of(folder, gzip(text), step) == text);
      CHECK(content_of(folder, zstd(text), step) == text);
      CHECK(content_of(folder, zstd(text, false), step) == text);
    }
  }
  const std::string large = some_text(3000000);  // over all buffers, also when it is packed
  CHECK(content_of(folder, gzip(large)) == large);
  CHECK(content_of(folder, zstd(large)) == large);
}

TEST_CASE("ByteStream: members and frames one behind the other are one content") {
  const TempFolder folder;
  const std::string text = some_text(50000);
  const auto pack_gzip = [](std::string_view t) { return gzip(t); };
  const auto pack_zstd = [](std::string_view t) { return zstd(t); };
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{49999}}) {
    CHECK(content_of(folder, packed_in_pieces(text, piece, pack_gzip), 333) == text);
    CHECK(content_of(folder, packed_in_pieces(text, piece, pack_zstd), 333) == text);
  }
  CHECK(content_of(folder, gzip("") + gzip("a") + gzip("") + gzip("b") + gzip("")) == "ab");
  CHECK(content_of(folder, gzip("a") + std::string(1000, '\0')) == "a");  // as tapes leave it
  const std::string skippable("\x50\x2A\x4D\x18\x03\x00\x00\x00xyz", 11);
  CHECK(content_of(folder, skippable + zstd("a") + skippable + zstd("b")) == "ab");
}

TEST_CASE("ByteStream: goes on from each of its restart points") {
  const TempFolder folder;
  const std::string text = some_text(8 << 20);
  const std::size_t piece = 1500000;
  for (const std::string& packed :
       {packed_in_pieces(text, piece, [](std::string_view t) { return gzip(t, 1); }),
        packed_in_pieces(text, piece, [](std::string_view t) { return zstd(t); })}) {
    const std::string path = folder.write("packed", packed);
    const StreamFile file = stream_file(path);
    const auto how = compression_of(*file.fd, path);
    const auto whole = open_stream(file, *how);
    CHECK(read_all(*whole, 65536) == text);
    CHECK(whole->file_bytes_read() == packed.size());
    const std::vector<RestartPoint> points = whole->restart_points().all();
    REQUIRE(points.size() == (text.size() + piece - 1) / piece);
    for (const RestartPoint& p : points) {
      CHECK(p.unpacked % piece == 0);
      CHECK(read_all(*open_stream(file, *how, p), 65536) == text.substr(p.unpacked));
    }
  }
}

TEST_CASE("RestartPoints: are thinned, so that they stay few, and the first stays") {
  RestartPoints points;
  for (std::uint64_t i = 0; i < 300000; ++i) points.add({i, i * RestartPoints::kNear});
  CHECK(points.all().size() < 2 * RestartPoints::kKeptMax);
  CHECK(points.all().size() > RestartPoints::kKeptMax / 2);
  CHECK(points.all().front() == RestartPoint{0, 0});
  for (std::size_t i = 2; i < points.all().size(); ++i) {
    REQUIRE(points.all()[i].unpacked - points.all()[i - 1].unpacked ==
            points.all()[1].unpacked - points.all()[0].unpacked);
  }
  RestartPoints near;
  for (std::uint64_t i = 0; i < 100; ++i) near.add({i, i * 1000});
  CHECK(near.all().size() == 1);
}

TEST_CASE("ByteStream: a packed file that was cut at any byte is told, with its name") {
  const TempFolder folder;
  const std::string text = some_text(600);
  for (const std::string& packed : {gzip(text), zstd(text), gzip("a") + gzip(text)}) {
    for (std::size_t n = 5; n < packed.size(); ++n) {
      if (packed.substr(0, n) == gzip("a")) continue;  // this is whole
      const std::string got = content_of(folder, packed.substr(0, n));
      REQUIRE_MESSAGE(has_part(got, "error: " + folder.path("packed") + " ends at byte " +
                                        std::to_string(n) + " in the middle of its"),
                      got);
    }
  }
}

TEST_CASE("ByteStream: a packed file with any byte flipped is told, or has the same content") {
  const TempFolder folder;
  const std::string text = some_text(600);
  for (const std::string& packed : {gzip(text), zstd(text)}) {
    for (std::size_t at = 4; at < packed.size(); ++at) {
      std::string flipped = packed;
      flipped[at] = static_cast<char>(flipped[at] ^ 0x24);
      const std::string got = content_of(folder, flipped);
      // The time and the system in a gzip header mean nothing here.
      REQUIRE((got == text || got.starts_with("error: " + folder.path("packed") + " ")));
      if (at > 20) REQUIRE(got != text);
    }
  }
  std::string broken = gzip(text);
  broken[broken.size() - 6] ^= 1;  // the checksum
  CHECK(has_part(content_of(folder, broken), "is damaged: its gzip data cannot be unpacked near"));
  CHECK(has_part(content_of(folder, broken), "(incorrect data check): copy it again"));
}

TEST_CASE("ByteStream: what stands behind the last member is told") {
  const TempFolder folder;
  const std::string got = content_of(folder, gzip("{}\n") + "and more");
  CHECK(has_part(
      got, fmt::format("has something behind its gzip data, at byte {}", gzip("{}\n").size())));
  CHECK(has_part(content_of(folder, zstd("{}\n") + "and more"), "is damaged: its zstd data"));
}

TEST_CASE("ByteStream: a zstd window that takes too much memory is refused") {
  const TempFolder folder;
  // As libzstd's own --ultra --long=31 writes it: a header that asks for a window of 2 GiB.
  const std::string head("\x28\xB5\x2F\xFD\x00\xA8\x00\x00\x00", 9);
  CHECK(has_part(content_of(folder, head), "a window of more than 128 MiB"));
}

TEST_CASE("compression_of: goes by the first bytes, and holds the name against them") {
  const TempFolder folder;
  auto how = [&](const std::string& name, std::string_view bytes) {
    const std::string path = folder.write(name, bytes);
    const auto result = compression_of(*open_to_read(path), path);
    if (result) return std::string(name_of(*result));
    CHECK(result.error().code == ExitCode::kDataRefused);
    CHECK(result.error().text.find(path) == 0);
    return result.error().text.substr(path.size());
  };
  CHECK(how("a.jsonl", "{}") == "nothing");
  CHECK(how("a.jsonl", "") == "nothing");
  CHECK(how("a.jsonl", gzip("{}")) == "gzip");
  CHECK(how("a.jsonl.zst", gzip("{}")) == "gzip");
  CHECK(how("a.jsonl.gz", zstd("{}")) == "zstd");
  CHECK(has_part(how("a.gz", "{}"), "is named as packed by gzip and does not begin so"));
  CHECK(has_part(how("a.zst", "{}"), "is named as packed by zstd and does not begin so"));
  CHECK(has_part(how("a.gz", ""), "is empty, and even gzip of nothing has some bytes"));
  CHECK(has_part(how("a.xz", std::string("\xFD"
                                         "7zXZ\0ab",
                                         8)),
                 "is compressed by xz, which is not read: unpack it first"));
  CHECK(has_part(how("a.bz2", "BZh91AY&SYab"), "is compressed by bzip2"));
  CHECK(how("a.txt", "BZh9 is how bzip2 begins") == "nothing");
}

TEST_CASE("unpacked_at_least: is what the file says of itself") {
  const TempFolder folder;
  auto least = [&](std::string_view bytes, Compression how) {
    return unpacked_at_least(stream_file(folder.write("packed", bytes)), how).value();
  };
  const std::string text = some_text(12345);
  CHECK(least(text, Compression::kNone) == 12345);
  CHECK(least(gzip(text), Compression::kGzip) == 12345);
  CHECK(least(zstd(text), Compression::kZstd) == 12345);
  CHECK(least(zstd(text, false), Compression::kZstd) == 0);
  CHECK(least("\x1F\x8B", Compression::kGzip) == 0);
}

#include <doctest/doctest.h>

#include <cctype>
#include <fstream>

#include "lib/delivery/digest.h"
#include "tests/unit/wire/examples.h"

// The worked example of docs/wire.md is true.

namespace packline {
namespace {

// The bytes of the page's blocks ```hex ... ```, in order.
std::vector<std::string> hex_blocks() {
  std::ifstream file(PACKLINE_SOURCE_DIR "/docs/wire.md");
  REQUIRE(file.good());
  std::vector<std::string> blocks;
  bool inside = false;
  int high = -1;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = line == "```hex";
      if (inside) blocks.emplace_back();
      continue;
    }
    if (!inside) continue;
    for (const char c : line) {
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) continue;
      const int digit = std::stoi(std::string(1, c), nullptr, 16);
      if (high < 0) {
        high = digit;
      } else {
        blocks.back().push_back(static_cast<char>(high * 16 + digit));
        high = -1;
      }
    }
  }
  return blocks;
}

TEST_CASE("docs/wire.md: the bytes of the worked example are those that the codec writes") {
  const std::vector<std::string> page = hex_blocks();
  CHECK(page.size() == 9);
  CHECK(page == examples::texts_of(encode(examples::pack())));
}

TEST_CASE("docs/wire.md: the bytes of the worked example are read as what the page says") {
  Frames frames;
  for (const std::string& block : hex_blocks()) frames.push_back(examples::buffer_of(block));
  const auto m = decode(frames);
  REQUIRE_MESSAGE(m.has_value(), (m ? "" : m.error().text));
  const Pack& pack = std::get<Pack>(*m);
  CHECK(pack.envelope == Envelope{0x0123456789ABCDEF, 2});
  CHECK((pack.at == StreamPoint{0, 1, 2}));
  CHECK(pack.after == Cursor{{0, 1, 4}, {{0, 1, "12.0.0"}, {0, 0, ""}}});
  const auto samples = decode_samples(pack.body.frames);
  REQUIRE(samples.has_value());
  CHECK(samples->ids == std::vector<std::string>{"s0:7", "q1@s0:2"});
  CHECK(labels_of(*samples) == std::vector<std::int32_t>{-100, 6, 7, -100, 9});
  CHECK(pack_digest(0, 1, 2, *samples) == pack.body.digest);
}

}  // namespace
}  // namespace packline

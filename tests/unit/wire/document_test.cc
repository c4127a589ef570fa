#include <doctest/doctest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <msgpack.hpp>
#include <set>
#include <utility>

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
  CHECK((pack.after == StreamPoint{0, 2, 0}));
  CHECK(pack.lanes == std::vector<Place>{{0, 1, "12.0.0"}, {0, 1, "9.0.0"}});
  const auto samples = decode_samples(pack.body.frames);
  REQUIRE(samples.has_value());
  CHECK(samples->ids == std::vector<std::string>{"s0:7", "q1@s0:2"});
  CHECK(labels_of(*samples) == std::vector<std::int32_t>{-100, 6, 7, -100, 9});
  CHECK(pack_digest(0, 1, 2, *samples) == pack.body.digest);
}

void collect_keys(const msgpack::object& o, std::set<std::string>& keys) {
  if (o.type == msgpack::type::ARRAY) {
    for (std::uint32_t i = 0; i < o.via.array.size; ++i) collect_keys(o.via.array.ptr[i], keys);
  } else if (o.type == msgpack::type::MAP) {
    for (std::uint32_t i = 0; i < o.via.map.size; ++i) {
      keys.insert(o.via.map.ptr[i].key.as<std::string>());
      collect_keys(o.via.map.ptr[i].val, keys);
    }
  }
}

TEST_CASE("docs/wire.md: the grammar has every key that is written") {
  std::ifstream file(PACKLINE_SOURCE_DIR "/docs/wire.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  const std::string grammar = page.substr(0, page.find("## 5. A worked example"));
  std::set<std::string> words, keys;
  std::string word;
  for (const char c : grammar) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
    } else {
      words.insert(std::exchange(word, {}));
    }
  }
  std::vector<Buffer> headers = {encode_samples(examples::samples())[0]};
  for (const Message& m : examples::all()) headers.push_back(encode(m)[0]);
  for (const Buffer& h : headers) {
    const auto text = examples::text_of(h);
    collect_keys(msgpack::unpack(text.data(), text.size()).get(), keys);
  }
  CHECK(keys.size() > 80);
  for (const std::string& key : keys) CHECK_MESSAGE(words.count(key) == 1, key);
}

}  // namespace
}  // namespace packline

#include <doctest/doctest.h>

#include <functional>
#include <msgpack.hpp>

#include "tests/unit/wire/examples.h"

// Bytes that arrive may be anything: nothing here may crash or take memory out of proportion, and
// what is refused is refused with a sentence.

namespace packline {
namespace {

using examples::buffer_of;
using examples::text_of;

std::string refusal(const Frames& frames, const Limits& limits = {}) {
  const auto r = decode(frames, limits);
  REQUIRE_FALSE(r.has_value());
  CHECK(r.error().code == ExitCode::kUnreachable);
  return r.error().text;
}

std::string samples_refusal(const Frames& frames, const Limits& limits = {}) {
  const auto r = decode_samples(frames, limits);
  REQUIRE_FALSE(r.has_value());
  return r.error().text;
}

bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("not in: " << text);
  return found;
}

// A header that is right but for what `change` writes in place of, or beside, a key.
Buffer header(std::uint32_t keys,
              const std::function<void(msgpack::packer<msgpack::sbuffer>&)>& write) {
  msgpack::sbuffer bytes;
  msgpack::packer<msgpack::sbuffer> p(bytes);
  p.pack_map(keys);
  write(p);
  return buffer_of(std::string(bytes.data(), bytes.size()));
}

using Packer = msgpack::packer<msgpack::sbuffer>;

void common(Packer& p, const char* type) {
  p.pack("v").pack(1).pack("type").pack(type).pack("job").pack(5).pack("dp_size").pack(1);
}

// A waiting message: the smallest.
void waiting_rest(Packer& p) {
  p.pack("session").pack_map(3);
  p.pack("restart").pack(0).pack("start_ms").pack(1).pack("random").pack(2);
  p.pack("since_ms").pack(3).pack("text").pack("why");
}

TEST_CASE("Hostile bytes: every byte of every header flipped gives a message or a sentence") {
  for (const Message& m : examples::all()) {
    Frames frames = encode(m);
    const std::string whole = text_of(frames[0]);
    std::size_t refused = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const int mask : {0x01, 0x10, 0x80, 0xFF}) {
        std::string broken = whole;
        broken[i] = static_cast<char>(broken[i] ^ mask);
        frames[0] = buffer_of(broken);
        const auto r = decode(frames);
        if (!r) {
          ++refused;
          CHECK_FALSE(r.error().text.empty());
        }
      }
    }
    CHECK(refused > whole.size());  // keys and types are most of a header
  }
}

TEST_CASE("Hostile bytes: a header cut at any length, or longer than its map, is refused") {
  for (const Message& m : examples::all()) {
    Frames frames = encode(m);
    const std::string whole = text_of(frames[0]);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      frames[0] = buffer_of(whole.substr(0, n));
      CHECK_FALSE(decode(frames).has_value());
    }
    frames[0] = buffer_of(whole + "x");
    CHECK(contains(refusal(frames), "before its frame"));
  }
}

TEST_CASE("Hostile bytes: the header and arrays of samples flipped and cut") {
  const Frames whole = encode_samples(examples::samples());
  for (std::size_t f = 0; f < whole.size(); ++f) {
    const std::string bytes = text_of(whole[f]);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      Frames frames = whole;
      frames[f] = buffer_of(bytes.substr(0, i));
      CHECK_FALSE(decode_samples(frames).has_value());
      for (const int mask : {0x01, 0x80, 0xFF}) {
        std::string broken = bytes;
        broken[i] = static_cast<char>(broken[i] ^ mask);
        frames[f] = buffer_of(broken);
        const auto r = decode_samples(frames);
        if (!r) CHECK_FALSE(r.error().text.empty());
      }
    }
  }
}

TEST_CASE(
    "Hostile bytes: a frame too few or too many, or one in the place of another, is refused") {
  for (const Message& m : examples::all()) {
    const Frames whole = encode(m);
    Frames more = whole;
    more.push_back(whole.back());
    CHECK_FALSE(decode(more).has_value());
    if (whole.size() == 1) continue;
    Frames fewer = whole;
    fewer.pop_back();
    CHECK_FALSE(decode(fewer).has_value());
  }
  CHECK(contains(refusal({}), "without frames"));
  const Frames samples = encode_samples(examples::samples());
  CHECK(contains(samples_refusal({samples[0], samples[1]}), "at least 3"));
  Frames doubled = samples;
  doubled[1] = samples[0];
  CHECK(contains(samples_refusal(doubled), "lengths"));
}

TEST_CASE("Hostile bytes: unknown keys are ignored") {
  const Buffer h = header(8, [](Packer& p) {
    common(p, "waiting");
    waiting_rest(p);
    p.pack("later").pack_array(2);
    p.pack(1).pack("x");
  });
  const auto r = decode({h});
  REQUIRE_MESSAGE(r.has_value(), (r ? "" : r.error().text));
  CHECK(std::get<Waiting>(*r).text == "why");
}

TEST_CASE("Hostile bytes: a missing key, one given twice and a wrong type are named") {
  CHECK(contains(refusal({header(6,
                                 [](Packer& p) {
                                   common(p, "waiting");
                                   p.pack("since_ms").pack(3).pack("text").pack("why");
                                 })}),
                 "waiting: key \"session\" is missing"));
  CHECK(contains(refusal({header(8,
                                 [](Packer& p) {
                                   common(p, "waiting");
                                   waiting_rest(p);
                                   p.pack("text").pack("again");
                                 })}),
                 "waiting: key \"text\" is there twice"));
  CHECK(contains(
      refusal({header(7,
                      [](Packer& p) {
                        common(p, "waiting");
                        p.pack("session").pack_map(3);
                        p.pack("restart").pack(-1).pack("start_ms").pack(1).pack("random").pack(2);
                        p.pack("since_ms").pack(3).pack("text").pack("why");
                      })}),
      "waiting: key \"session.restart\" must be an integer that is not negative"));
  CHECK(contains(refusal({header(6,
                                 [](Packer& p) {
                                   p.pack("v").pack(1).pack("type").pack("error").pack("job").pack(
                                       5);
                                   p.pack("dp_size").pack(std::uint64_t{1} << 32);
                                   p.pack("reason").pack("fenced").pack("text").pack("x");
                                 })}),
                 "error: key \"dp_size\" must be an integer from 0 to 4294967295"));
}

TEST_CASE("Hostile bytes: the place of a mistake inside a list is named") {
  Report m = examples::report();
  Limits limits;
  limits.position_bytes = 4;
  CHECK(contains(refusal(encode(m), limits),
                 "report: key \"lanes[0].position\" has 5 bytes, more than 4"));
  limits = {};
  limits.lanes = 1;
  CHECK(contains(refusal(encode(m), limits), "report: key \"lanes\" has 2 entries, more than 1"));
}

TEST_CASE(
    "Hostile bytes: another protocol version is refused by both numbers, whatever else it has") {
  const std::string text = refusal({header(1, [](Packer& p) { p.pack("v").pack(7); })});
  CHECK(contains(text, "protocol version 7"));
  CHECK(contains(text, "this is version 1"));
  CHECK(contains(
      refusal({header(2, [](Packer& p) { p.pack("v").pack(1).pack("type").pack("window2"); })}),
      "type"));
  CHECK(contains(refusal({header(1, [](Packer& p) { p.pack("type").pack("end"); })}),
                 "key \"v\" is missing"));
}

TEST_CASE("Hostile bytes: five bytes that promise four billion values take no memory") {
  for (const std::string& bytes :
       {std::string("\xdd\xff\xff\xff\xff", 5), std::string("\xdf\xff\xff\xff\xff", 5),
        std::string("\x81\xa1\x61\xdd\x7f\xff\xff\xff", 8)}) {
    CHECK(contains(refusal({buffer_of(bytes)}), "promises"));
  }
  for (const std::string& bytes :
       {std::string("\xdb\xff\xff\xff\xff", 5), std::string("\xc6\xff\xff\xff\xff", 5),
        std::string("\xc9\xff\xff\xff\xff\x01", 6)}) {
    CHECK_FALSE(decode({buffer_of(bytes)}).has_value());
  }
}

TEST_CASE("Hostile bytes: many small promises add up to a refusal") {
  // Lists of three in a list: each fits, all together exceed the values a header may have.
  msgpack::sbuffer bytes;
  Packer p(bytes);
  p.pack_map(1);
  p.pack("a").pack_array(1000);
  for (int i = 0; i < 1000; ++i) p.pack_array(3).pack(1).pack(2).pack(3);
  Limits limits;
  limits.header_values = 2000;
  CHECK(
      contains(refusal({buffer_of(std::string(bytes.data(), bytes.size()))}, limits), "promises"));
}

TEST_CASE("Hostile bytes: ten million nested lists are refused at the ninth") {
  CHECK(contains(refusal({buffer_of(std::string(10'000'000, '\x91'))}), "nested"));
  std::string maps;
  for (int i = 0; i < 100000; ++i) maps += "\x81\xa1k";
  CHECK(contains(refusal({buffer_of(maps)}), "nested"));
}

TEST_CASE("Hostile bytes: what a header promises of frames must be there") {
  Pack m = examples::pack();
  Frames frames = encode(m);
  frames.pop_back();
  CHECK(contains(refusal(frames), "pack: key \"body.frames\" promises 8 frames, but 7 are left"));
  Slice s = examples::slice();
  Frames more = encode(s);
  more.push_back(Buffer());
  CHECK(contains(refusal(more), "slice:"));
}

TEST_CASE("Hostile bytes: sizes over the limits are refused before they are read") {
  const Frames frames = encode(examples::window());
  Limits limits;
  limits.frames = 3;
  CHECK(contains(refusal(frames, limits), "frames arrived, more than 3"));
  limits = {};
  limits.message_bytes = 100;
  CHECK(contains(refusal(frames, limits), "more than 100"));
  limits = {};
  limits.header_bytes = 20;
  CHECK(contains(refusal(frames, limits), "more than 20"));
  limits = {};
  limits.samples = 1;
  CHECK(contains(refusal(frames, limits), "more than 1"));
  limits = {};
  limits.columns = 2;
  CHECK(contains(refusal(frames, limits), "3 columns arrived, more than 2"));
  limits = {};
  limits.text_bytes = 6;
  CHECK(contains(samples_refusal(encode_samples(examples::samples()), limits), "more than 6"));
}

Frames one_column(const std::string& dtype, const std::string& kind,
                  const std::vector<std::uint32_t>& shape) {
  Frames frames = encode_samples(examples::samples());
  frames.resize(3);
  frames[0] = header(2, [&](Packer& p) {
    p.pack("n").pack(2).pack("columns").pack_array(1);
    p.pack_map(4).pack("name").pack("a").pack("dtype").pack(dtype);
    p.pack("kind").pack(kind).pack("item_shape").pack(shape);
  });
  frames.push_back(Buffer::of(std::vector<std::uint32_t>(5)));
  if (kind != "per_token") frames.push_back(Buffer::of(std::vector<std::uint32_t>(2)));
  return frames;
}

TEST_CASE(
    "Hostile bytes: columns whose shape overflows, or that are of no known kind, are refused") {
  const std::uint32_t big = 0x80000000;
  CHECK(contains(samples_refusal(one_column("i32", "ragged", {big, big, big, big})), "dimension"));
  CHECK(contains(samples_refusal(one_column("i32", "ragged", {0})), "dimension of 0"));
  CHECK(contains(samples_refusal(one_column("i32", "ragged", std::vector<std::uint32_t>(9, 1))),
                 "9 dimensions"));
  CHECK(contains(samples_refusal(one_column("i31", "ragged", {})), "i31"));
  CHECK(contains(samples_refusal(one_column("i32", "rugged", {})), "rugged"));
  CHECK(contains(samples_refusal(one_column("i64", "per_token", {})), "items of 8 bytes"));
}

}  // namespace
}  // namespace packline

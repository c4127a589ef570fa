#include "lib/corpus/position.h"

#include <doctest/doctest.h>

#include <string>

#include "lib/base/random.h"

namespace packline {

TEST_CASE("Position: the text of docs/stream.md") {
  const Position p{1042, 0, 0, {{1030, 0, 1}, {1039, 1, 1}}};
  CHECK(p.text() == "1042.0.0,12.0.1,3.1.1");
  CHECK(Position::parse("1042.0.0,12.0.1,3.1.1") == p);
}

TEST_CASE("Position: the start is the empty text") {
  CHECK(Position{}.text() == "");
  CHECK(Position::parse("") == Position{});
  CHECK(!Position::parse("0.0.0"));
}

TEST_CASE("Position: a sample may wait of the record that is being read") {
  const Position p{5, 3, 0, {{5, 1, 1}}};
  CHECK(p.text() == "5.3.0,0.1.1");
  CHECK(Position::parse(p.text()) == p);
}

TEST_CASE("Position: every position comes back from its text") {
  Rng rng(3);
  for (int turn = 0; turn < 2000; ++turn) {
    Position p;
    p.record = rng.next() >> rng.below(64);
    p.sample = static_cast<std::uint32_t>(rng.next() >> (32 + rng.below(32)));
    p.token = static_cast<std::uint32_t>(rng.below(3));
    std::uint64_t record = rng.below(3);
    for (std::uint64_t i = rng.below(20); i > 0 && record < p.record; --i) {
      const auto sample = static_cast<std::uint32_t>(rng.below(5));
      p.carried.push_back({record, sample, static_cast<std::uint32_t>(1 + rng.below(3))});
      if (rng.below(2) == 0 && record + 1 < p.record) {
        p.carried.push_back({record, sample + 1, 1});
      }
      record += 1 + (rng.next() >> (20 + rng.below(44)));
    }
    const auto again = Position::parse(p.text());
    REQUIRE(again.has_value());
    REQUIRE(*again == p);
  }
}

TEST_CASE("Position: a hostile text is refused with a sentence, not believed") {
  for (const std::string text : {"x",
                                 "1",
                                 "1.2",
                                 "1.2.",
                                 "1.2.3.",
                                 "1.2.3,",
                                 "1.2.3 ",
                                 " 1.2.3",
                                 "+1.2.3",
                                 "-1.2.3",
                                 "01.2.3",
                                 "1.02.3",
                                 "1.2.00",
                                 "1..3",
                                 "1.2.3,1.0",
                                 "1.2.3,1.0.",
                                 "1.2.3,1.0.0",
                                 "1.2.3,2.0.1",
                                 "1.2.3,0.2.1",
                                 "1.2.3,0.9.1",
                                 "5.0.0,1.0.1,1.0.1",
                                 "5.0.0,1.0.1,2.0.1",
                                 "5.0.0,2.1.1,2.0.1",
                                 "18446744073709551616.0.0",
                                 "1.4294967296.0",
                                 "1.0.4294967296",
                                 "5.0.0,1.0.4294967296",
                                 "5.0.0,18446744073709551616.0.1",
                                 "1.2.3,1.0.1;",
                                 "1,2,3",
                                 "1.2.0x3",
                                 "1e3.0.0"}) {
    CAPTURE(text);
    const auto p = Position::parse(text);
    REQUIRE(!p);
    CHECK(p.error().code == ExitCode::kDataRefused);
    CHECK(p.error().text.find("is not a position of a lane") != std::string::npos);
  }
  CHECK(!Position::parse(std::string("1.2.3\0", 6)));
  CHECK(Position::parse("18446744073709551615.4294967295.4294967295"));
}

TEST_CASE("Position: a text over a mebibyte is refused, one below it is read") {
  std::string text = "100000000.0.0";
  for (std::uint64_t back = 99999999; text.size() + 40 < std::size_t{1} << 20; --back) {
    text += "," + std::to_string(back) + ".0.1";
  }
  CHECK(Position::parse(text));
  CHECK(!Position::parse(text + std::string(100, ' ')));
  CHECK(Position::parse(std::string(std::size_t{2} << 20, '1')).error().text.size() < 300);
}

TEST_CASE("Position: what is cut or changed anywhere is refused or means something else") {
  const Position p{1042, 7, 0, {{1030, 0, 1}, {1039, 1, 2}, {1042, 3, 1}}};
  const std::string text = p.text();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0) {
      const auto cut = Position::parse(text.substr(0, i));
      if (cut) REQUIRE(*cut != p);
    }
    for (int c = 0; c < 256; ++c) {
      std::string other = text;
      other[i] = static_cast<char>(c);
      const auto changed = Position::parse(other);
      if (changed) REQUIRE(changed->text() == other);
    }
  }
}

}  // namespace packline

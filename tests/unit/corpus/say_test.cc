#include "lib/corpus/say.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace packline;
using namespace std::chrono_literals;

TEST_CASE("LongWork: says nothing of what is quick, and a last word only where it spoke") {
  std::vector<std::string> said;
  const Say say = [&](const std::string& text) { said.push_back(text); };
  const auto words = [](std::int64_t seconds) { return "after " + std::to_string(seconds) + " s"; };
  LongWork quick(say, 1h, 1h);
  quick.tick(words);
  quick.done(words);
  CHECK(said.empty());

  LongWork slow(say, 0s, 1h);
  slow.tick(words);
  slow.tick(words);  // not again before the hour has passed
  CHECK(said == std::vector<std::string>{"after 0 s"});
  slow.done(words);
  CHECK(said.size() == 2);

  const Say nobody;
  LongWork unheard(nobody, 0s, 0s);
  unheard.tick(words);
  unheard.done(words);
  CHECK(said.size() == 2);
}

TEST_CASE("size_text: in the unit that reads best") {
  CHECK(size_text(0) == "0 bytes");
  CHECK(size_text(1023) == "1023 bytes");
  CHECK(size_text(1536) == "1.5 KiB");
  CHECK(size_text(std::uint64_t{3} << 30) == "3.0 GiB");
  CHECK(size_text(UINT64_MAX) == "16384.0 PiB");
}

#include "lib/app/wait_log.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

using namespace std::chrono_literals;

Wait wait(std::string whom, std::uint64_t since_s, bool ordinary = false) {
  return {"a notice", std::move(whom), since_s * 1000, ordinary};
}

Instant at(int s) { return Instant{} + 1000s + std::chrono::seconds(s); }

// Law L7: any process that waits can say for what, for whom, and since when; past a limit it says
// so unasked.
TEST_CASE("WaitLog: a wait is told past the limit, and again after as long") {
  WaitLog log(30s);
  CHECK(!log.due({wait("producer 1", 29)}, at(29)));
  const auto said = log.due({wait("producer 1", 30)}, at(30));
  REQUIRE(said);
  CHECK(said->text == "waits for a notice from producer 1 since 30 s");
  CHECK(!said->ordinary);
  CHECK(!log.due({wait("producer 1", 31)}, at(31)));
  CHECK(!log.due({wait("producer 1", 59)}, at(59)));
  CHECK(log.due({wait("producer 1", 60)}, at(60)));
}

TEST_CASE("WaitLog: an ordinary wait is told once, the next one of its kind once more") {
  WaitLog log(30s);
  const auto said = log.due({wait("sink 0", 40, true)}, at(40));
  REQUIRE(said);
  CHECK(said->ordinary);
  CHECK(!log.due({wait("sink 0", 400, true)}, at(400)));
  CHECK(!log.due({wait("sink 0", 5, true)}, at(500)));  // another wait by now
  CHECK(log.due({wait("sink 0", 35, true)}, at(530)));
}

TEST_CASE("WaitLog: a wait that ended and came back at once is a new one") {
  WaitLog log(30s);
  CHECK(log.due({wait("producer 0", 30)}, at(30)));
  CHECK(!log.due({wait("producer 0", 10)}, at(45)));
  CHECK(log.due({wait("producer 0", 30)}, at(65)));
}

TEST_CASE("WaitLog: one sentence tells all that is due, and of many the first") {
  WaitLog log(2s);
  std::vector<Wait> waits;
  for (int i = 0; i < 64; ++i) waits.push_back(wait("sink " + std::to_string(i), 2, i == 0));
  const auto said = log.due(waits, at(2));
  REQUIRE(said);
  CHECK(said->text ==
        "waits for a notice from sink 0 since 2 s; waits for a notice from sink 1 since 2 s; waits "
        "for "
        "a notice from sink 2 since 2 s; and 61 more");
  CHECK(!said->ordinary);
}

}  // namespace
}  // namespace packline

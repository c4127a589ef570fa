#include "packer/slice_outlet.h"

#include <doctest/doctest.h>

#include "lib/transport/clock.h"
#include "lib/transport/loop.h"
#include "tests/unit/temp_folder.h"

namespace packline {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWaitMost = 20s;  // of a test, never spent when all is well

Buffer buffer_of(const std::string& s) { return Buffer::of(std::vector<char>(s.begin(), s.end())); }

// A way to a sink that is there but takes nothing until it is asked to.
struct Way {
  Way()
      : address("ipc://" + folder.path("s.0")),
        sink(Socket::pull_bind(context, address).value()),
        out(Socket::push_connect(context, address).value()) {}

  // Sends until something must wait; `t` is the time of all of it.
  void fill(Instant t) {
    const Instant end = now() + kWaitMost;
    while (!out.waiting()) {
      REQUIRE(now() < end);
      REQUIRE(out.send({buffer_of(std::string(1 << 20, 'x'))}, t));
    }
  }

  // Reads until nothing waits, flushing at `t`.
  void take_all(Instant t) {
    const Instant end = now() + kWaitMost;
    Loop loop;
    loop.watch(sink);
    while (out.waiting()) {
      REQUIRE(now() < end);
      sink.receive();
      REQUIRE(out.flush(t) == 0);
      loop.wait(now() + 5ms);
    }
  }

  test::TempFolder folder;
  std::string address;
  Context context;
  Socket sink;
  SliceOutlet out;
};

TEST_CASE("SliceOutlet: what cannot be written holds up the packer, for a moment") {
  Way way;
  const Instant t = now();
  way.fill(t);
  CHECK(way.out.congested(t + 1s));
  CHECK_FALSE(way.out.congested(t + 1s + 1ms));  // counts as dead by now
  CHECK(way.out.flush(t + 1s) == 0);
  CHECK_FALSE(way.out.send({buffer_of("late")}, t + 2s));
  CHECK(way.out.flush(t + 2s) == 1);
  CHECK_FALSE(way.out.waiting());
  CHECK_FALSE(way.out.congested(t + 2s));
}

// The moment was forgotten with the first slice that went through, and asked for with the next.
TEST_CASE("SliceOutlet: each slice that goes through gives those behind it their moment anew") {
  Way way;
  const Instant t = now();
  way.fill(t);
  for (int i = 0; i < 40; ++i)  // more than the marks and the kernel take at once
    REQUIRE(way.out.send({buffer_of(std::string(1 << 20, 'y'))}, t));
  CHECK_FALSE(way.out.congested(t + 1500ms));
  const Instant end = now() + kWaitMost;
  Loop loop;
  loop.watch(way.sink);
  while (!way.out.congested(t + 1500ms)) {  // until the first of them went through, at 900 ms
    REQUIRE(now() < end);
    REQUIRE(way.out.waiting());
    way.sink.receive();
    REQUIRE(way.out.flush(t + 900ms) == 0);
    loop.wait(now() + 5ms);
  }
  way.take_all(t + 950ms);
  CHECK_FALSE(way.out.congested(t + 10s));
  way.fill(t + 10s);
  CHECK(way.out.congested(t + 11s));  // nothing of the first wait is left
}

}  // namespace
}  // namespace packline

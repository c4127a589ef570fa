#include "lib/transport/loop.h"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "lib/transport/wake.h"
#include "tests/unit/transport/fixture.h"

namespace packline {
namespace {

TEST_CASE("Loop: it returns at its deadline, not before") {
  Loop loop;
  const Instant start = now();
  CHECK_FALSE(loop.wait(start + std::chrono::milliseconds(15)));
  CHECK(now() >= start + std::chrono::milliseconds(15));
  CHECK_FALSE(loop.wait(start));  // in the past: at once
}

TEST_CASE("Loop: a worker thread wakes it, and clearing puts it back to sleep") {
  Wake wake;
  Loop loop;
  loop.watch(wake.fd());
  std::thread worker([&] {
    wake.signal();
    wake.signal();
  });
  CHECK(loop.wait(now() + kPatience));
  worker.join();
  wake.clear();
  CHECK_FALSE(loop.wait(now()));
}

TEST_CASE("Loop: an entry that is not to be read does not wake it, a forgotten one neither") {
  Wake wake;
  wake.signal();
  Loop loop;
  const auto id = loop.watch(wake.fd());
  loop.wake_when_readable(id, false);
  CHECK_FALSE(loop.wait(now()));
  loop.wake_when_readable(id, true);
  CHECK(loop.wait(now()));
  loop.forget(id);
  CHECK_FALSE(loop.wait(now()));
  CHECK(loop.watch(wake.fd()) == id);  // the place is used again
}

void nothing(int) {}

TEST_CASE("Loop: a signal ends a wait early and breaks nothing") {
  struct sigaction action{}, before{};
  action.sa_handler = nothing;
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  Loop loop;
  Wake ready;
  loop.watch(ready.fd());
  const pthread_t waiter = ::pthread_self();
  std::atomic<bool> over{false};
  std::thread sender([&] {
    while (!over) {  // until one of them meets the wait
      ::pthread_kill(waiter, SIGUSR1);
      std::this_thread::yield();
    }
  });
  CHECK_FALSE(loop.wait(now() + kPatience));
  over = true;
  sender.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  ready.signal();
  CHECK(loop.wait(now() + kPatience));
}

TEST_CASE("Clock: the steady clock does not go back, the wall clock is of this century") {
  const Instant a = now();
  CHECK(now() >= a);
  CHECK(wall_ms() > 1'600'000'000'000);
}

}  // namespace
}  // namespace packline

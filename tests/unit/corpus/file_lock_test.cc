#include "lib/corpus/file_lock.h"

#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/temp_folder.h"

using namespace packline;
using packline::test::TempFolder;
using namespace std::chrono_literals;

TEST_CASE("lock_file: L7, waiting for a lock is said, for what and since when, again and again") {
  const TempFolder folder;
  const std::string path = folder.path("a.lock");
  std::optional<Result<Fd>> held = lock_file(path, "a is made", {});
  REQUIRE(held->has_value());

  std::mutex mutex;
  std::condition_variable spoke;
  std::vector<std::string> said;
  const Say say = [&](const std::string& text) {
    const std::lock_guard guard(mutex);
    said.push_back(text);
    spoke.notify_all();
  };
  bool got = false;
  std::thread waiter([&] { got = lock_file(path, "a is made", say, 1ms, 1ms).has_value(); });
  {
    std::unique_lock lock(mutex);
    CHECK(spoke.wait_for(lock, 60s, [&] { return said.size() >= 3; }));
  }
  held.reset();
  waiter.join();
  CHECK(got);
  CHECK(said[0] == "waits since 0 s for another process to let go of " + path + ": a is made");
}

TEST_CASE("lock_file: a lock that is free is taken without a word") {
  const TempFolder folder;
  const Say say = [](const std::string& text) { FAIL(text); };
  for (int i = 0; i < 3; ++i) {
    CHECK(lock_file(folder.path("a.lock"), "a is made", say, 0s, 0s).has_value());
  }
}

TEST_CASE("lock_file: a folder that cannot be written is an error that names the file") {
  const TempFolder folder;
  const auto held = lock_file(folder.path("none/a.lock"), "a is made", {});
  REQUIRE_FALSE(held.has_value());
  CHECK(held.error().code == ExitCode::kWrongJob);
  CHECK(held.error().text.find(folder.path("none/a.lock") + " cannot be opened for writing: ") ==
        0);
}

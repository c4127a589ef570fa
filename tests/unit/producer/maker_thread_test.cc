#include "producer/maker_thread.h"

#include <doctest/doctest.h>

#include <atomic>
#include <new>
#include <semaphore>

#include "tests/unit/temp_folder.h"

namespace packline {
namespace {

// Lane 1 throws; lane 2 waits until the test lets it go on.
class Lanes final : public WindowMaker {
 public:
  Result<std::optional<ClosedWindow>> try_make(std::uint32_t lane, const Place& place,
                                               std::vector<Loss>&) override {
    if (lane == 1) throw std::bad_alloc();
    if (lane == 2 && !go_on) return std::nullopt;
    ClosedWindow w;
    w.key = {lane, place.epoch, place.index};
    return w;
  }
  void wait() override { woken.acquire(); }
  void wake() override { woken.release(); }
  void cancel() override { woken.release(); }
  std::uint64_t records_taken(std::uint64_t) const override { return 0; }
  std::uint64_t records() const override { return 0; }
  std::uint64_t records_in(std::uint64_t) const override { return 0; }

  std::counting_semaphore<> woken{0};
  std::atomic<bool> go_on = false;
};

TEST_CASE("MakerThread: what making a window throws is that window's trouble, and told") {
  const test::TempFolder folder;
  Job job;
  job.state = folder.path();
  job.name = "job";
  std::counting_semaphore<> made(0);
  MakerThread maker(std::make_unique<Lanes>(), Quarantine(job), [&] { made.release(); });
  maker.ask({7, 1, {0, 3, "p3"}});
  maker.ask({8, 0, {0, 3, "p3"}});
  made.acquire();
  const auto first = maker.take();
  REQUIRE(first);
  CHECK(first->ticket == 7);
  REQUIRE(!first->window);
  CHECK(first->window.error().code == ExitCode::kBug);
  CHECK(first->window.error().text.find("window 3 of lane 1, epoch 0: making it failed: ") == 0);
  made.acquire();
  const auto second = maker.take();
  REQUIRE(second);
  CHECK(second->window.has_value());
}

TEST_CASE("MakerThread: a window whose records are being encoded lets other lanes pass") {
  const test::TempFolder folder;
  Job job;
  job.state = folder.path();
  job.name = "job";
  std::counting_semaphore<> made(0);
  auto owned = std::make_unique<Lanes>();
  Lanes& lanes = *owned;
  MakerThread maker(std::move(owned), Quarantine(job), [&] { made.release(); });
  maker.ask({1, 2, {0, 0, ""}});
  maker.ask({2, 0, {0, 0, ""}});
  maker.ask({3, 3, {0, 0, ""}});
  made.acquire();
  made.acquire();
  CHECK(maker.take()->ticket == 2);
  CHECK(maker.take()->ticket == 3);
  CHECK(!maker.take());
  lanes.go_on = true;
  lanes.wake();
  made.acquire();
  CHECK(maker.take()->ticket == 1);
}

TEST_CASE("MakerThread: ends while a window waits for its records") {
  const test::TempFolder folder;
  Job job;
  job.state = folder.path();
  job.name = "job";
  MakerThread maker(std::make_unique<Lanes>(), Quarantine(job), [] {});
  maker.ask({1, 2, {0, 0, ""}});
}

}  // namespace
}  // namespace packline

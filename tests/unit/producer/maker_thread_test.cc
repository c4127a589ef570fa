#include "producer/maker_thread.h"

#include <doctest/doctest.h>

#include <new>
#include <semaphore>

#include "tests/unit/temp_folder.h"

namespace packline {
namespace {

class Throws final : public WindowMaker {
 public:
  Result<ClosedWindow> make(std::uint32_t lane, const Place& place, std::vector<Loss>&) override {
    if (lane == 1) throw std::bad_alloc();
    ClosedWindow w;
    w.key = {lane, place.epoch, place.index};
    return w;
  }
  void cancel() override {}
  std::uint64_t records_taken(std::uint64_t) const override { return 0; }
  std::uint64_t records() const override { return 0; }
  std::uint64_t records_in(std::uint64_t) const override { return 0; }
};

TEST_CASE("MakerThread: what making a window throws is that window's trouble, and told") {
  const test::TempFolder folder;
  Job job;
  job.state = folder.path();
  job.name = "job";
  std::counting_semaphore<> made(0);
  MakerThread maker(std::make_unique<Throws>(), Quarantine(job), [&] { made.release(); });
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

}  // namespace
}  // namespace packline

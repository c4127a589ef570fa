#include "lib/windows/pipe_order.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "tests/unit/pipe_writer.h"
#include "tests/unit/windows/support.h"

namespace packline {
namespace {

using test::bytes_of;
using test::LengthsEncoder;
using test::make_pipe;
using test::maker_of;
using test::PipeWriter;
using test::Step;
using test::TempFolder;
using test::walk;

constexpr std::uint64_t kPlenty = std::uint64_t{64} << 20;

// A random job whose one source could be a pipe.
Job streamable_job(const TempFolder& folder, std::uint64_t seed) {
  Job job = test::random_job(folder, seed);
  job.sources.resize(1);
  job.sources[0].weight = 0;
  job.sources[0].repeat = 1;
  job.lanes = 1;
  job.epochs = 1;
  job.deliver.window_credit = 1 + static_cast<std::uint32_t>(seed % 4);
  if (job.shuffle.kind == ShuffleKind::kFull) job.shuffle.kind = ShuffleKind::kNone;
  return job;
}

// A maker over a pipe through which the file of `job` comes.
struct Piped {
  Piped(const TempFolder& folder, const Job& job, std::uint64_t seed = 1,
        std::uint64_t kept = kPlenty)
      : path(make_pipe(folder.path(fmt::format("pipe-{}", seed)))),
        writer(path, test::read_file(job.sources[0].files[0]), seed) {
    SourceSettings settings = job.sources[0];
    settings.files = {path};
    settings.pipe = true;
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(std::move(*PipeSource::open(settings, folder.path("piped"), kept)));
    maker = WindowMaker::over(job, std::move(sources), std::make_unique<LengthsEncoder>());
  }

  std::string path;
  PipeWriter writer;
  std::unique_ptr<WindowMaker> maker;
};

// Of losses, without the file that they name.
std::string bytes_without_path(const Step& step, const std::string& path) {
  std::vector<Loss> losses = step.losses;
  for (Loss& loss : losses) {
    REQUIRE(loss.where.starts_with(path + ":"));
    loss.where.erase(0, path.size());
  }
  return bytes_of(step.window, losses);
}

TEST_CASE("PipeOrder: the windows of a pipe are those of a file with the same records") {
  std::size_t windows = 0, losses = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const TempFolder folder;
    Job job = streamable_job(folder, seed);
    const std::vector<Step> file = walk(*maker_of(job).maker, job, 0);
    job.encode.threads = 1 + static_cast<std::uint32_t>(seed % 3);
    Piped piped(folder, job, seed);
    const std::vector<Step> pipe = walk(*piped.maker, job, 0);
    REQUIRE(pipe.size() == file.size());
    for (std::size_t i = 0; i < file.size(); ++i) {
      REQUIRE(bytes_without_path(pipe[i], piped.path) ==
              bytes_without_path(file[i], job.sources[0].files[0]));
      losses += file[i].losses.size();
    }
    windows += file.size();
  }
  CHECK(windows > 500);
  CHECK(losses > 500);
}

// L5: "A source that cannot seek, such as a pipe, reaches back as far as the credit".
TEST_CASE("PipeOrder: the last windows of the credit can be made again, older ones cannot") {
  std::size_t again = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const TempFolder folder;
    const Job job = streamable_job(folder, seed);
    const std::size_t credit = std::size_t{2} * job.deliver.window_credit;
    const std::vector<Step> file = walk(*maker_of(job).maker, job, 0);
    Piped piped(folder, job, seed);
    Rng rng(seed);
    std::size_t head = 0;  // the furthest window made
    for (std::size_t i = 0; i < file.size(); ++i) {
      std::vector<Loss> losses;
      REQUIRE(piped.maker->reaches(file[i].place).has_value());
      auto window = piped.maker->make(0, file[i].place, losses);
      REQUIRE(window.has_value());
      REQUIRE(bytes_without_path({0, file[i].place, std::move(*window), losses}, piped.path) ==
              bytes_without_path(file[i], job.sources[0].files[0]));
      if (i < head) ++again;
      head = std::max(head, i);
      if (rng.below(2) == 0) continue;
      const std::size_t lowest = head + 1 - std::min(head + 1, credit);
      i = lowest + rng.below(i + 1 - lowest) - 1;  // ++ follows
    }
    for (std::size_t i = 0; i + credit < file.size(); ++i) {
      const Status ok = piped.maker->reaches(file[i].place);
      if (ok) continue;  // it begins with records that a later window needs too
      ++refused;
      CHECK(ok.error().code == ExitCode::kDataRefused);
      CHECK(ok.error().text.find("a pipe goes back as far as deliver.window_credit windows") !=
            std::string::npos);
      std::vector<Loss> losses;
      CHECK(piped.maker->make(0, file[i].place, losses).error().text == ok.error().text);
    }
  }
  CHECK(again > 300);
  CHECK(refused > 30);
}

TEST_CASE("PipeOrder: who starts in the middle of a stream is told that it came too late") {
  const TempFolder folder;
  Job job = test::job_over(folder, {folder.write("a", std::string(900, '\n'))});
  std::string text;
  for (int i = 0; i < 300; ++i) text += "[5]\n";
  job.sources[0].files = {folder.write("b", text)};
  job.lanes = 1;
  job.shuffle.kind = ShuffleKind::kNone;
  const std::vector<Step> file = walk(*maker_of(job).maker, job, 0);
  REQUIRE(file.size() > 3);
  Piped piped(folder, job);
  const Status late = piped.maker->reaches(file[3].place);
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().code == ExitCode::kDataRefused);
  CHECK(late.error().text.find("of which this producer has read 0: it was started after them") !=
        std::string::npos);
  CHECK(piped.maker->reaches(file[0].place).has_value());
  std::vector<Loss> losses;
  CHECK(piped.maker->make(0, file[0].place, losses).has_value());
}

// L7: "Any process that waits can say for what".
TEST_CASE("PipeOrder: a maker that waits for a pipe says so, and can be cancelled") {
  const TempFolder folder;
  Job job = test::job_over(folder, {make_pipe(folder.path("p"))});
  job.lanes = 1;
  job.shuffle.kind = ShuffleKind::kNone;
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(std::move(*PipeSource::open(job.sources[0], job.state, kPlenty)));
  const auto maker = WindowMaker::over(job, std::move(sources), std::make_unique<LengthsEncoder>());
  CHECK(maker->waits().empty());
  std::vector<Loss> losses;
  auto made = std::async(std::launch::async, [&] { return maker->make(0, {0, 0, ""}, losses); });
  while (maker->waits().empty()) std::this_thread::yield();
  CHECK(maker->waits() ==
        fmt::format("the pipe {}, to which nothing was written yet", folder.path("p")));
  maker->cancel();
  CHECK(made.get().error().code == ExitCode::kTerminated);
}

TEST_CASE("PipeOrder: a window is there as soon as one record more than it needs came") {
  const TempFolder folder;
  Job job = test::job_over(folder, {make_pipe(folder.path("p"))});
  job.lanes = 1;
  job.shuffle.kind = ShuffleKind::kNone;
  job.pack.lookahead_packs = 0;
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(std::move(*PipeSource::open(job.sources[0], job.state, kPlenty)));
  const auto maker = WindowMaker::over(job, std::move(sources), std::make_unique<LengthsEncoder>());
  std::vector<Loss> losses;
  auto made = std::async(std::launch::async, [&] { return maker->make(0, {0, 0, ""}, losses); });
  const int writer = ::open(folder.path("p").c_str(), O_WRONLY | O_CLOEXEC);
  for (std::uint32_t i = 0; i < job.pack.packs_per_window + 2; ++i) {
    const std::string record = fmt::format("[{}]\n", job.pack.capacity);
    REQUIRE(::write(writer, record.data(), record.size()) > 0);
  }
  CHECK(made.get()->packs.size() == job.pack.packs_per_window);  // while the writer is still there
  ::close(writer);
}

}  // namespace
}  // namespace packline

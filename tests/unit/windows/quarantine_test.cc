#include "lib/windows/quarantine.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

#include <memory>

#include "tests/unit/windows/support.h"

namespace packline {
namespace {

using test::read_file;
using test::TempFolder;

Job quarantine_job(const TempFolder& folder) {
  Job job;
  job.name = "chat";
  job.state = folder.path();
  job.fingerprint = 0xABC;
  job.lanes = 3;
  return job;
}

Loss loss_at(std::uint64_t lane_record, const std::string& cause = "no text.") {
  Loss loss;
  loss.lane_record = lane_record;
  loss.reason = "parse";
  loss.where = fmt::format("a.jsonl:{}", lane_record);
  loss.id = fmt::format("s0:{}", lane_record);
  loss.cause = cause;
  return loss;
}

struct Lane {
  Quarantine& quarantine;

  // Window `index` of lane 1, which begins at `before` and lost these records.
  Status write(std::uint64_t index, const std::string& before,
               const std::vector<std::uint64_t>& lost, const std::string& cause = "no text.") {
    ClosedWindow window;
    window.key = {1, 0, index};
    window.before = before;
    std::vector<Loss> losses;
    for (const std::uint64_t record : lost) {
      losses.push_back(loss_at(record, cause));
      losses.back().window = window.key;
    }
    return quarantine.write(window, losses);
  }
};

std::string file_of(const Quarantine& quarantine) {
  return quarantine.folder() + "/epoch-0.lane-1.jsonl";
}

// The lane_records of a file's lines.
std::vector<std::uint64_t> records_in(const std::string& path) {
  std::vector<std::uint64_t> out;
  const std::string text = read_file(path);
  constexpr std::string_view kKey = "\"lane_record\":";
  for (std::size_t at = 0; (at = text.find(kKey, at)) != std::string::npos;) {
    at += kKey.size();
    out.push_back(std::stoull(text.substr(at)));
  }
  return out;
}

using Records = std::vector<std::uint64_t>;

TEST_CASE("Quarantine: a line is what the docs say, whatever the record held") {
  Loss loss = loss_at(9, "the bytes \xFF\"\n,\"lane_record\":1}");
  loss.window = {1, 2, 5};
  loss.tokens = 3;
  CHECK(quarantine_line(loss, 3) ==
        "{\"reason\":\"parse\",\"source\":\"a.jsonl:9\",\"id\":\"s0:9\",\"tokens\":3,\"cause\":"
        "\"the bytes \xEF\xBF\xBD\\\"\\n,\\\"lane_record\\\":1}\",\"epoch\":2,\"window\":16,"
        "\"lane_record\":9}");
}

TEST_CASE("Quarantine: windows in order append") {
  const TempFolder folder;
  Quarantine quarantine(quarantine_job(folder));
  CHECK(quarantine.folder() == folder.path() + "/chat-0000000000000abc/quarantine");
  Lane lane{quarantine};
  REQUIRE(lane.write(0, "", {1, 4}).has_value());
  REQUIRE(lane.write(1, "10.0.0", {}).has_value());
  REQUIRE(lane.write(2, "20.0.0", {22, 22, 29}).has_value());
  CHECK(records_in(file_of(quarantine)) == Records{1, 4, 22, 22, 29});
}

TEST_CASE("Quarantine: without a loss no file is made") {
  const TempFolder folder;
  Quarantine quarantine(quarantine_job(folder));
  REQUIRE(Lane{quarantine}.write(0, "", {}).has_value());
  CHECK(!std::filesystem::exists(quarantine.folder()));
}

TEST_CASE("Quarantine: a lane that goes back cuts the lines from there on") {
  const TempFolder folder;
  Quarantine quarantine(quarantine_job(folder));
  Lane lane{quarantine};
  REQUIRE(lane.write(0, "", {1, 4}).has_value());
  REQUIRE(lane.write(1, "10.0.0", {10, 12}).has_value());
  REQUIRE(lane.write(2, "20.0.0", {22}).has_value());
  REQUIRE(lane.write(1, "10.0.0", {10, 12}).has_value());
  CHECK(records_in(file_of(quarantine)) == Records{1, 4, 10, 12});
  REQUIRE(lane.write(2, "20.0.0", {22}).has_value());
  CHECK(records_in(file_of(quarantine)) == Records{1, 4, 10, 12, 22});
  REQUIRE(lane.write(0, "", {}).has_value());
  CHECK(records_in(file_of(quarantine)).empty());
}

TEST_CASE("Quarantine: a record that an earlier window began stays with that window") {
  const TempFolder folder;
  Quarantine quarantine(quarantine_job(folder));
  Lane lane{quarantine};
  REQUIRE(lane.write(0, "", {9, 10}).has_value());
  REQUIRE(lane.write(1, "10.1.0", {11}).has_value());
  quarantine = Quarantine(quarantine_job(folder));  // restarted
  REQUIRE(Lane{quarantine}.write(1, "10.1.0", {11}).has_value());
  CHECK(records_in(file_of(quarantine)) == Records{9, 10, 11});
}

TEST_CASE("Quarantine: lanes and epochs have files of their own") {
  const TempFolder folder;
  Quarantine quarantine(quarantine_job(folder));
  for (const WindowKey& key : {WindowKey{0, 0, 0}, WindowKey{1, 0, 0}, WindowKey{0, 1, 0}}) {
    ClosedWindow window;
    window.key = key;
    REQUIRE(quarantine.write(window, {loss_at(3)}).has_value());
  }
  for (const char* name : {"epoch-0.lane-0", "epoch-0.lane-1", "epoch-1.lane-0"}) {
    CHECK(records_in(quarantine.folder() + "/" + name + ".jsonl") == Records{3});
  }
}

// Two lines of one job in one state folder: without the lock the second's first window cut the
// first's file.
TEST_CASE("Quarantine: who comes second to a lane describes nothing, and says so once") {
  const TempFolder folder;
  auto first = std::make_unique<Quarantine>(quarantine_job(folder));
  REQUIRE(Lane{*first}.write(0, "", {1, 4}).has_value());
  Quarantine second(quarantine_job(folder));
  const Status refused = Lane{second}.write(0, "", {1, 4});
  REQUIRE(!refused);
  CHECK(refused.error().text.find(second.folder() + "/lane-1.lock: another process") == 0);
  CHECK(Lane{second}.write(1, "10.0.0", {}).has_value());
  CHECK(Lane{second}.write(2, "20.0.0", {22}).has_value());  // counted, not said again
  CHECK(second.unwritten() == 3);
  REQUIRE(Lane{*first}.write(1, "10.0.0", {12}).has_value());
  CHECK(records_in(file_of(second)) == Records{1, 4, 12});
  first.reset();  // with it ends the lock
  REQUIRE(Lane{second}.write(2, "20.0.0", {22}).has_value());
  CHECK(records_in(file_of(second)) == Records{1, 4, 12, 22});
}

// A process killed at any byte of a write.
TEST_CASE("Quarantine: a line torn anywhere is cut off by the next process") {
  const TempFolder folder;
  Quarantine whole(quarantine_job(folder));
  REQUIRE(Lane{whole}.write(0, "", {1}).has_value());
  const std::size_t before = read_file(file_of(whole)).size();
  REQUIRE(Lane{whole}.write(1, "10.0.0", {12, 13}).has_value());
  const std::string text = read_file(file_of(whole));
  for (std::size_t size = before; size <= text.size(); ++size) {
    std::ofstream(file_of(whole), std::ios::binary) << text.substr(0, size);
    whole = Quarantine(quarantine_job(folder));  // the next process
    REQUIRE(Lane{whole}.write(1, "10.0.0", {12, 13}).has_value());
    REQUIRE(read_file(file_of(whole)) == text);
  }
}

TEST_CASE("Quarantine: a file of something else is started over") {
  const TempFolder folder;
  Quarantine quarantine(quarantine_job(folder));
  std::filesystem::create_directories(quarantine.folder());
  for (const std::string& text : {std::string("hello\n"), std::string(1 << 20, 'x')}) {
    std::ofstream(file_of(quarantine), std::ios::binary) << text;
    REQUIRE(Lane{quarantine}.write(5, "10.0.0", {12}).has_value());
    CHECK(records_in(file_of(quarantine)) == Records{12});
    CHECK(read_file(file_of(quarantine)).starts_with("{"));
  }
}

// A limit on the size of files stands in for a full disk.
TEST_CASE("Quarantine: a full disk is said once, and mended when there is room again") {
  const TempFolder folder;
  Quarantine quarantine(quarantine_job(folder));
  Lane lane{quarantine};
  REQUIRE(lane.write(0, "", {1}).has_value());
  rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit full = old;
  full.rlim_cur = 150;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
  const Status first = lane.write(1, "10.0.0", {11});
  const Status second = lane.write(2, "20.0.0", {21});
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &old) == 0);
  ::signal(SIGXFSZ, handler);
  REQUIRE(!first);
  CHECK(first.error().text.find(file_of(quarantine)) != std::string::npos);
  CHECK(first.error().text.find("File too large") != std::string::npos);
  CHECK(second.has_value());
  CHECK(quarantine.unwritten() == 2);
  REQUIRE(lane.write(3, "30.0.0", {31}).has_value());
  CHECK(records_in(file_of(quarantine)) == Records{1, 31});
}

TEST_CASE("Quarantine: a folder that cannot be made is an error, not a crash") {
  const TempFolder folder;
  Job job = quarantine_job(folder);
  job.state = folder.write("file", "");
  Quarantine quarantine(job);
  CHECK(!Lane{quarantine}.write(0, "", {1}));
}

}  // namespace
}  // namespace packline

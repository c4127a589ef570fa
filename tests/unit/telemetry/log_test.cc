#include "lib/telemetry/log.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace packline {
namespace {

// What goes to stderr meanwhile.
template <typename Do>
std::string stderr_of(Do what) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int before = ::dup(STDERR_FILENO);
  REQUIRE(::dup2(::fileno(file), STDERR_FILENO) >= 0);
  what();
  std::fflush(stderr);
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  std::rewind(file);
  std::string text;
  for (int c = 0; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

TEST_CASE("Log: a line of text names the time, the level and the speaker") {
  const std::string text = stderr_of([] {
    log::configure(log::Format::kText, {"job", "sink", 3});
    log::info("holds {} slices", 4);
    log::warning("two\nlines");
  });
  CHECK(text.find(" info    sink-3: holds 4 slices\n") == 23);
  CHECK(text.find("warning sink-3: two lines\n") != std::string::npos);
}

TEST_CASE("Log: a role without an index has none in its lines, and percents stay percents") {
  const std::string text = stderr_of([] {
    log::configure(log::Format::kText, {"job", "pack%ver", -1});
    log::error("100 % {}", "{}");
  });
  CHECK(text.find("error   pack%ver: 100 % {}\n") != std::string::npos);
}

TEST_CASE("Log: json lines are JSON whatever the text and the names are") {
  const std::string said = "a \"quote\", a \\ and a\nnewline, \xff";
  const std::string text = stderr_of([&] {
    log::configure(log::Format::kJson, {"my \"job\" 50%n", "producer", 0});
    log::error("{}", said);
  });
  log::configure(log::Format::kText, {});
  REQUIRE(text.back() == '\n');
  CHECK(text.find('\n') == text.size() - 1);
  const auto line = nlohmann::json::parse(text);
  CHECK(line.at("job") == "my \"job\" 50%n");
  CHECK(line.at("role") == "producer");
  CHECK(line.at("index") == 0);
  CHECK(line.at("level") == "error");
  CHECK(line.at("text") == "a \"quote\", a \\ and a\nnewline, \xEF\xBF\xBD");
  CHECK(line.at("time").get<std::string>().size() ==
        std::string("2026-03-01T12:00:00.123+01:00").size());
}

TEST_CASE("Log: a limit lets a key through once a period and tells how many it held back") {
  log::Limit limit(std::chrono::seconds(10));
  const Instant t{};
  CHECK(limit.pass("a", t) == 0);
  CHECK_FALSE(limit.pass("a", t + std::chrono::seconds(1)).has_value());
  CHECK_FALSE(limit.pass("a", t + std::chrono::seconds(9)).has_value());
  CHECK(limit.pass("b", t + std::chrono::seconds(9)) == 0);
  CHECK(limit.pass("a", t + std::chrono::seconds(10)) == 2);
  CHECK(limit.pass("a", t + std::chrono::seconds(20)) == 0);
}

}  // namespace
}  // namespace packline

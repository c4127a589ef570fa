#include "lib/base/check.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "lib/base/instant.h"
#include "lib/base/result.h"

namespace packline {
namespace {

struct Death {
  int code = 0;
  std::string text;
};

// Runs `f` in a child; how it ended and what it wrote to stderr.
Death death_of(const std::function<void()>& f) {
  int fds[2];
  REQUIRE(pipe(fds) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(fds[1], STDERR_FILENO);
    f();
    _exit(0);
  }
  close(fds[1]);
  Death death;
  char buffer[512];
  for (ssize_t n; (n = read(fds[0], buffer, sizeof buffer)) > 0;) {
    death.text.append(buffer, static_cast<std::size_t>(n));
  }
  close(fds[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  death.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return death;
}

}  // namespace

TEST_CASE("PL_CHECK: a broken promise ends the process with the code of a bug") {
  const Death death = death_of([] { PL_CHECK(1 + 1 == 3); });
  CHECK(death.code == static_cast<int>(ExitCode::kBug));
  CHECK(death.text.find("check failed: 1 + 1 == 3") != std::string::npos);
  CHECK(death.text.find("check_test.cc:") != std::string::npos);
}

TEST_CASE("PL_CHECK_EQ: prints both values") {
  const Death death = death_of([] { PL_CHECK_EQ(40 + 1, 42); });
  CHECK(death.code == 5);
  CHECK(death.text.find("41 != 42") != std::string::npos);
}

TEST_CASE("PL_CHECK: a promise that is kept does nothing") {
  PL_CHECK(true);
  PL_CHECK_EQ(2, 2);
  CHECK(death_of([] { PL_CHECK_EQ(std::string("a"), "a"); }).code == 0);
}

TEST_CASE("Result: holds a value, or a sentence with its exit code") {
  const Result<int> good = 7;
  CHECK(good.has_value());
  CHECK(*good == 7);
  const Result<int> bad = fail(ExitCode::kWrongJob, "job.yaml:3: lanes: must be > 0, is 0");
  REQUIRE(!bad);
  CHECK(bad.error().code == ExitCode::kWrongJob);
  CHECK(bad.error().text == "job.yaml:3: lanes: must be > 0, is 0");
  const Status ok;
  CHECK(ok.has_value());
}

TEST_CASE("to_ms: counts whole milliseconds") {
  CHECK(to_ms(std::chrono::microseconds(2999)) == 2);
  CHECK(to_ms(Instant(std::chrono::seconds(3)) - Instant()) == 3000);
}

}  // namespace packline

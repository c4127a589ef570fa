#include "lib/telemetry/memory.h"

#include <doctest/doctest.h>

#include <vector>

namespace packline {
namespace {

TEST_CASE("Memory: anonymous bytes are read out of the kernel's text") {
  CHECK(anonymous_bytes("Name:\tx\nVmRSS:\t  900 kB\nRssAnon:\t     512 kB\nRssFile:\t 4 kB\n") ==
        512 * 1024);
  CHECK(anonymous_bytes("Name:\tx\n") == 0);
  CHECK(anonymous_bytes("Name:\tx\nRssAnon:") == 0);
}

TEST_CASE("Memory: what is taken shows, and the peak stays when it is given back") {
  MemoryMeter meter;
  const std::uint64_t before = meter.sample();
  CHECK(before > 0);
  constexpr std::size_t kBytes = 64u << 20;
  {
    const std::vector<char> taken(kBytes, 'x');
    CHECK(taken[kBytes / 2] == 'x');
    CHECK(meter.sample() >= before + kBytes / 2);
  }
  CHECK(meter.peak() >= before + kBytes / 2);
  const std::uint64_t after = meter.sample();
  CHECK(meter.peak() >= after);
}

}  // namespace
}  // namespace packline

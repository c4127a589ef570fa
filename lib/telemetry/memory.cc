#include "lib/telemetry/memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace packline {

std::uint64_t anonymous_bytes(std::string_view proc_status) {
  constexpr std::string_view kKey = "\nRssAnon:";
  const std::size_t at = proc_status.find(kKey);
  if (at == std::string_view::npos) return 0;
  const std::size_t digit = proc_status.find_first_not_of(" \t", at + kKey.size());
  if (digit == std::string_view::npos) return 0;
  std::uint64_t kib = 0;
  std::from_chars(proc_status.data() + digit, proc_status.data() + proc_status.size(), kib);
  return kib * 1024;
}

std::uint64_t MemoryMeter::sample() {
  std::ifstream file("/proc/self/status");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::uint64_t now = anonymous_bytes(text);
  peak_ = std::max(peak_, now);
  return now;
}

}  // namespace packline

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/result.h"

// The base addresses of a line, checked as text: a process takes five ports from its address on.

namespace packline {

struct LineAddress {
  bool tcp = false;
  std::string host;        // tcp
  std::uint32_t port = 0;  // tcp
  std::string path;        // ipc
  bool loopback = false;   // nothing outside this host can reach it
};

constexpr std::uint32_t kPortsOfProcess = 5;

// "tcp://host:port" or "ipc:///path"; else the sentence that says what is wrong with it.
tl::expected<LineAddress, std::string> parse_address(const std::string& text);

// Two processes would use the same port or path.
bool overlap(const LineAddress& a, const LineAddress& b);

}  // namespace packline

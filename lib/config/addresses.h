#pragma once

#include <cstdint>
#include <string>

#include "lib/base/result.h"

// The base addresses of a line. A process takes five ports from its address on; with ipc the path
// gets a suffix for each.

namespace packline {

struct LineAddress {
  bool tcp = false;
  std::string host;        // tcp; of IPv6 without its brackets
  std::uint32_t port = 0;  // tcp
  std::string path;        // ipc
  bool loopback = false;   // nothing outside this host can reach it
};

// Counted from the base address.
constexpr int kDataPort = 0;         // a producer's windows, a sink's slices
constexpr int kReportsPort = 1;      // of a producer
constexpr int kSubscribersPort = 1;  // of a sink
constexpr int kNoticesPort = 2;
constexpr int kEncodersPort = 3;  // of a producer whose records go to encoder processes
constexpr int kHttpPort = 4;
constexpr int kPorts = 5;

// "tcp://host:port" or "ipc:///path"; else the sentence that says what is wrong with it. Checks the
// form alone: a name that does not resolve yet may do so later.
tl::expected<LineAddress, std::string> parse_address(const std::string& text);

// The address of port k, 0 <= k < kPorts: tcp://host:(port + k), or ipc:///path.k. `base` must be
// one that parse_address takes.
std::string port_of(const std::string& base, int k);

// What to bind for port k: as port_of, or on all interfaces for `line.bind: any`.
std::string bind_address(const std::string& base, int k, bool any);

// "host:port" where HTTP is served: the base's port + 4 (host 0.0.0.0 with `any`); with ipc
// 127.0.0.1:0, a port of the system's choice.
std::string http_address(const std::string& base, bool any);

// Two processes would use the same port or path.
bool overlap(const LineAddress& a, const LineAddress& b);

}  // namespace packline

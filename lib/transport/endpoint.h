#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace packline {

// The ports of a role, counted from its base address.
constexpr int kDataPort = 0;         // a producer's windows, a sink's slices
constexpr int kReportsPort = 1;      // of a producer
constexpr int kSubscribersPort = 1;  // of a sink
constexpr int kNoticesPort = 2;
constexpr int kEncodersPort = 3;
constexpr int kHttpPort = 4;
constexpr int kPorts = 5;

// A base address taken apart: tcp://host:port or ipc:///path.
struct BaseAddress {
  bool ipc = false;
  std::string host;  // tcp; an IPv6 address stands in brackets
  int port = 0;      // tcp
  std::string path;  // ipc
};

// Checks the form alone: a name that does not resolve yet may do so later. A sentence says what is
// wrong: another protocol, a host with other characters, a port outside 1..65531 (five are taken
// from there on), a path that is not absolute or that, with its suffix, exceeds the 107 bytes of a
// socket's path.
Result<BaseAddress> parse_address(std::string_view base);

// The address of port k, 0 <= k < kPorts: tcp://host:(port + k), or ipc:///path.k. `base` must be
// one that parse_address takes.
std::string port_of(std::string_view base, int k);

// What to bind for port k: as port_of, or on all interfaces for `line.bind: any`.
std::string bind_address(std::string_view base, int k, bool any);

// "host:port" where HTTP is served: the base's port + 4 (host 0.0.0.0 with `any`); with ipc
// 127.0.0.1:0, a port of the system's choice.
std::string http_address(std::string_view base, bool any);

}  // namespace packline

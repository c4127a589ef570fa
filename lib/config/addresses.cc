#include "lib/config/addresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "lib/base/check.h"
#include "lib/config/yaml_tree.h"

namespace packline {
namespace {

using Refusal = tl::unexpected<std::string>;

constexpr std::uint32_t kPortMax = 65535 - (kPorts - 1);
constexpr std::size_t kIpcPathMax = 107 - 2;  // the system's limit, less the suffix ".k"

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

bool is_ipv6_char(char c) {
  return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') || c == ':' ||
         c == '.';
}

tl::expected<LineAddress, std::string> parse_tcp(const std::string& text, std::string rest) {
  const std::size_t colon = rest.rfind(':');
  const auto refuse = [&](std::string_view why) {
    return Refusal(fmt::format("\"{}\" {}", shown(text), why));
  };
  if (colon == std::string::npos) return refuse("has no port; write tcp://host:port");
  LineAddress address;
  address.tcp = true;
  address.host = rest.substr(0, colon);
  const bool bracketed = address.host.starts_with('[') && address.host.ends_with(']');
  if (bracketed) {
    address.host = address.host.substr(1, address.host.size() - 2);
    if (!std::ranges::all_of(address.host, is_ipv6_char)) {
      return refuse("has no IPv6 address between [ and ]");
    }
  } else if (!std::ranges::all_of(address.host, is_host_char)) {
    return refuse("has a host that is neither a name nor an address; IPv6 stands in [ ]");
  }
  if (address.host.empty() || address.host.size() > 253) return refuse("has no host");
  const std::string port = rest.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(port.data(), port.data() + port.size(), address.port, 10);
  if (error != std::errc() || end != port.data() + port.size() || address.port < 1 ||
      address.port > kPortMax) {
    return refuse(
        fmt::format("must have a port from 1 to {}, since a process takes {} from there "
                    "on",
                    kPortMax, kPorts));
  }
  if (address.host == "0.0.0.0" || address.host == "::") {
    return refuse("is no address that others can use; write the host's own and line.bind: any");
  }
  address.loopback =
      address.host == "localhost" || address.host == "::1" || address.host.starts_with("127.");
  return address;
}

std::string written(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

}  // namespace

tl::expected<LineAddress, std::string> parse_address(const std::string& text) {
  if (text.starts_with("tcp://")) return parse_tcp(text, text.substr(6));
  if (!text.starts_with("ipc://")) {
    return Refusal(fmt::format("\"{}\" must begin with tcp:// or ipc://, as in tcp://data-0:5550",
                               shown(text)));
  }
  LineAddress address;
  address.path = text.substr(6);
  address.loopback = true;
  if (!address.path.starts_with('/')) {
    return Refusal(fmt::format("\"{}\" must have an absolute path, ipc:///run/...", shown(text)));
  }
  if (address.path.ends_with('/') || address.path.find('\0') != std::string::npos) {
    return Refusal(fmt::format("\"{}\" must name a file, not a folder", shown(text)));
  }
  if (address.path.size() > kIpcPathMax) {
    return Refusal(fmt::format("\"{}\" has a path of {} bytes; the system takes {}", shown(text),
                               address.path.size(), kIpcPathMax));
  }
  return address;
}

std::string bind_address(const std::string& base, int k, bool any) {
  const auto a = parse_address(base);
  PL_CHECK(a.has_value());
  PL_CHECK(k >= 0 && k < kPorts);
  if (!a->tcp) return fmt::format("ipc://{}.{}", a->path, k);
  return fmt::format("tcp://{}:{}", any ? "*" : written(a->host),
                     a->port + static_cast<std::uint32_t>(k));
}

std::string port_of(const std::string& base, int k) { return bind_address(base, k, false); }

std::string http_address(const std::string& base, bool any) {
  const auto a = parse_address(base);
  PL_CHECK(a.has_value());
  if (!a->tcp) return "127.0.0.1:0";
  return fmt::format("{}:{}", any ? "0.0.0.0" : written(a->host), a->port + kHttpPort);
}

bool overlap(const LineAddress& a, const LineAddress& b) {
  if (a.tcp != b.tcp) return false;
  if (!a.tcp) return a.path == b.path;
  const std::uint32_t low = std::min(a.port, b.port), high = std::max(a.port, b.port);
  return a.host == b.host && high - low < kPorts;
}

}  // namespace packline

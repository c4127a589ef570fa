#include "lib/transport/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "lib/base/check.h"

namespace packline {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";
constexpr int kPortMax = 65535 - (kPorts - 1);
constexpr std::size_t kSocketPathBytes = 107;  // sun_path less its final zero
constexpr std::size_t kSuffixBytes = 2;        // ".k"

tl::unexpected<Error> wrong(std::string_view base, std::string_view what) {
  return fail(ExitCode::kWrongJob, fmt::format("address \"{}\": {}", base, what));
}

bool host_is_well_formed(std::string_view host) {
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string_view inner = brackets ? host.substr(1, host.size() - 2) : host;
  if (inner.empty()) return false;
  return std::all_of(inner.begin(), inner.end(), [&](char c) {
    if (brackets) return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '.';
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
  });
}

Result<BaseAddress> parse_tcp(std::string_view base) {
  const std::string_view rest = base.substr(kTcp.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) {
    return wrong(base, "has no port; write tcp://host:port");
  }
  BaseAddress a;
  a.host = rest.substr(0, colon);
  if (a.host == "*" || a.host == "0.0.0.0") {
    return wrong(
        base,
        "names no host that others can reach; write the host's name here and \"line.bind: any\"");
  }
  if (!host_is_well_formed(a.host)) {
    return wrong(base, "the host is not a name or an address; write tcp://host:port");
  }
  const std::string_view port = rest.substr(colon + 1);
  const auto [end, bad] = std::from_chars(port.data(), port.data() + port.size(), a.port);
  if (bad != std::errc() || end != port.data() + port.size() || a.port < 1 || a.port > kPortMax) {
    return wrong(
        base, fmt::format(
                  "the port must be a number from 1 to {}, since {} ports are taken from there on",
                  kPortMax, kPorts));
  }
  return a;
}

Result<BaseAddress> parse_ipc(std::string_view base) {
  BaseAddress a;
  a.ipc = true;
  a.path = base.substr(kIpc.size());
  if (a.path.empty() || a.path.front() != '/') {
    return wrong(base, "the path must be absolute; write ipc:///path");
  }
  if (a.path.back() == '/') return wrong(base, "the path must name a file, not a folder");
  if (a.path.find('\0') != std::string::npos) return wrong(base, "the path has a zero byte");
  if (a.path.size() + kSuffixBytes > kSocketPathBytes) {
    return wrong(
        base,
        fmt::format(
            "the path has {} bytes; a socket's path may have {} and the port's suffix takes {}; "
            "choose a shorter folder",
            a.path.size(), kSocketPathBytes, kSuffixBytes));
  }
  return a;
}

}  // namespace

Result<BaseAddress> parse_address(std::string_view base) {
  if (base.substr(0, kTcp.size()) == kTcp) return parse_tcp(base);
  if (base.substr(0, kIpc.size()) == kIpc) return parse_ipc(base);
  return wrong(base, "must be tcp://host:port or ipc:///path");
}

std::string bind_address(std::string_view base, int k, bool any) {
  const auto a = parse_address(base);
  PL_CHECK(a.has_value());
  PL_CHECK(k >= 0 && k < kPorts);
  if (a->ipc) return fmt::format("{}{}.{}", kIpc, a->path, k);
  return fmt::format("{}{}:{}", kTcp, any ? "*" : a->host, a->port + k);
}

std::string port_of(std::string_view base, int k) { return bind_address(base, k, false); }

std::string http_address(std::string_view base, bool any) {
  const auto a = parse_address(base);
  PL_CHECK(a.has_value());
  if (a->ipc) return "127.0.0.1:0";
  return fmt::format("{}:{}", any ? "0.0.0.0" : a->host, a->port + kHttpPort);
}

}  // namespace packline

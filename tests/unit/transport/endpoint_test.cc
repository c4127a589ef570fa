#include "lib/transport/endpoint.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

std::string refusal(std::string_view base) {
  const auto a = parse_address(base);
  REQUIRE_FALSE(a.has_value());
  CHECK(a.error().code == ExitCode::kWrongJob);
  return a.error().text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("Endpoint: tcp and ipc addresses are taken apart") {
  const auto tcp = parse_address("tcp://data-0.cluster_1:5550");
  REQUIRE(tcp.has_value());
  CHECK_FALSE(tcp->ipc);
  CHECK(tcp->host == "data-0.cluster_1");
  CHECK(tcp->port == 5550);
  const auto six = parse_address("tcp://[fe80::1]:1");
  REQUIRE(six.has_value());
  CHECK(six->host == "[fe80::1]");
  const auto ipc = parse_address("ipc:///run/line/p0");
  REQUIRE(ipc.has_value());
  CHECK(ipc->ipc);
  CHECK(ipc->path == "/run/line/p0");
}

TEST_CASE("Endpoint: the ports of a role follow from its base address") {
  CHECK(port_of("tcp://h:5550", kDataPort) == "tcp://h:5550");
  CHECK(port_of("tcp://h:5550", kNoticesPort) == "tcp://h:5552");
  CHECK(port_of("ipc:///r/p0", kReportsPort) == "ipc:///r/p0.1");
  CHECK(bind_address("tcp://h:5550", kReportsPort, true) == "tcp://*:5551");
  CHECK(bind_address("tcp://h:5550", kReportsPort, false) == "tcp://h:5551");
  CHECK(bind_address("ipc:///r/p0", kReportsPort, true) == "ipc:///r/p0.1");
  CHECK(http_address("tcp://h:5550", false) == "h:5554");
  CHECK(http_address("tcp://h:5550", true) == "0.0.0.0:5554");
  CHECK(http_address("ipc:///r/p0", false) == "127.0.0.1:0");
}

TEST_CASE("Endpoint: ports outside 1..65531 and what is no number are refused") {
  CHECK(parse_address("tcp://h:1").has_value());
  CHECK(parse_address("tcp://h:65531").has_value());
  for (const char* port :
       {"0", "65532", "99999", "-1", "", "12x", " 12", "+1", "*", "4294967297"}) {
    CHECK(contains(refusal(std::string("tcp://h:") + port), "from 1 to 65531"));
  }
  CHECK(contains(refusal("tcp://h"), "no port"));
}

TEST_CASE("Endpoint: hosts that nobody can reach or that are no names are refused") {
  CHECK(contains(refusal("tcp://*:5550"), "line.bind: any"));
  CHECK(contains(refusal("tcp://0.0.0.0:5550"), "line.bind: any"));
  for (const char* host : {"", "a b", "a/b", "a;b", "[zz]", "[]", "a@b", "::1"}) {
    CHECK(contains(refusal(std::string("tcp://") + host + ":5550"), "host"));
  }
}

TEST_CASE("Endpoint: other protocols and relative paths are refused") {
  for (const char* base : {"", "h:5550", "udp://h:1", "inproc://x", "TCP://h:1"}) {
    CHECK(contains(refusal(base), "must be tcp://host:port or ipc:///path"));
  }
  CHECK(contains(refusal("ipc://run/p0"), "absolute"));
  CHECK(contains(refusal("ipc://"), "absolute"));
  CHECK(contains(refusal("ipc://@abstract"), "absolute"));
  CHECK(contains(refusal("ipc:///run/"), "folder"));
}

TEST_CASE("Endpoint: an ipc path may have 107 bytes with its suffix, and no more") {
  const std::string longest = "/" + std::string(104, 'p');
  CHECK(parse_address("ipc://" + longest).has_value());
  CHECK(contains(refusal("ipc://" + longest + "p"), "106 bytes"));
}

}  // namespace
}  // namespace packline

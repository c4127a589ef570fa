#include "lib/config/addresses.h"

#include "tests/unit/config/job_folder.h"

namespace packline::test {
namespace {

std::string refused(const std::string& text) {
  auto address = parse_address(text);
  CAPTURE(text);
  REQUIRE_FALSE(address.has_value());
  return address.error();
}

}  // namespace

TEST_CASE("Addresses: tcp and ipc are read") {
  const auto tcp = parse_address("tcp://data-0:5550");
  REQUIRE(tcp.has_value());
  CHECK(tcp->tcp);
  CHECK(tcp->host == "data-0");
  CHECK(tcp->port == 5550);
  CHECK_FALSE(tcp->loopback);
  CHECK(parse_address("tcp://127.0.0.1:1")->loopback);
  CHECK(parse_address("tcp://localhost:65531")->loopback);
  CHECK(parse_address("tcp://[::1]:5550")->loopback);
  CHECK(parse_address("tcp://[fe80::1]:5550")->host == "fe80::1");
  CHECK(parse_address("ipc:///run/p0")->path == "/run/p0");
}

TEST_CASE("Addresses: what a socket would take and never reach is refused") {
  CHECK(contains(refused("tcp://data-0"), "has no port"));
  for (const char* text : {"tcp://h:0", "tcp://h:65532", "tcp://h:99999", "tcp://h:", "tcp://h:*",
                           "tcp://h:-1", "tcp://h:5550x", "tcp://h:99999999999"}) {
    CHECK(contains(refused(text), "must have a port from 1 to 65531"));
  }
  CHECK(contains(refused("tcp://:5550"), "has no host"));
  CHECK(contains(refused("tcp://*:5550"), "neither a name nor an address"));
  CHECK(contains(refused("tcp://fe80::1:5550"), "IPv6 stands in [ ]"));
  CHECK(contains(refused("tcp://0.0.0.0:5550"), "line.bind: any"));
  CHECK(contains(refused("data-0:5550"), "must begin with tcp:// or ipc://"));
  for (const char* host : {"", "a b", "a/b", "a;b", "[zz]", "[]", "a@b"}) {
    CHECK(contains(refused(std::string("tcp://") + host + ":5550"), "ha"));
  }
  for (const char* text : {"", "udp://h:1", "inproc://x", "TCP://h:1"}) {
    CHECK(contains(refused(text), "must begin with tcp:// or ipc://"));
  }
  for (const char* text : {"ipc://relative", "ipc://", "ipc://@abstract"}) {
    CHECK(contains(refused(text), "absolute path"));
  }
  CHECK(contains(refused("ipc:///run/"), "not a folder"));
  CHECK(contains(refused(std::string("ipc:///a\0b", 10)), "must name a file"));
  CHECK(contains(refused("ipc:///" + std::string(105, 'x')), "has a path of 106 bytes"));
  CHECK(parse_address("ipc:///" + std::string(104, 'x')).has_value());
}

TEST_CASE("Addresses: the ports of a role follow from its base address") {
  CHECK(port_of("tcp://h:5550", kDataPort) == "tcp://h:5550");
  CHECK(port_of("tcp://h:5550", kNoticesPort) == "tcp://h:5552");
  CHECK(port_of("tcp://[fe80::1]:5550", kReportsPort) == "tcp://[fe80::1]:5551");
  CHECK(port_of("ipc:///r/p0", kReportsPort) == "ipc:///r/p0.1");
  CHECK(bind_address("tcp://h:5550", kReportsPort, true) == "tcp://*:5551");
  CHECK(bind_address("tcp://h:5550", kReportsPort, false) == "tcp://h:5551");
  CHECK(bind_address("ipc:///r/p0", kReportsPort, true) == "ipc:///r/p0.1");
  CHECK(http_address("tcp://h:5550", false) == "h:5554");
  CHECK(http_address("tcp://[::1]:5550", false) == "[::1]:5554");
  CHECK(http_address("tcp://h:5550", true) == "0.0.0.0:5554");
  CHECK(http_address("ipc:///r/p0", false) == "127.0.0.1:0");
}

TEST_CASE("Addresses: two processes of one host are five ports apart") {
  const auto at = [](const std::string& text) { return *parse_address(text); };
  CHECK(overlap(at("tcp://h:5550"), at("tcp://h:5554")));
  CHECK_FALSE(overlap(at("tcp://h:5550"), at("tcp://h:5555")));
  CHECK_FALSE(overlap(at("tcp://h:5550"), at("tcp://i:5550")));
  CHECK(overlap(at("ipc:///run/a"), at("ipc:///run/a")));
  CHECK_FALSE(overlap(at("ipc:///run/a"), at("tcp://h:5550")));
}

}  // namespace packline::test

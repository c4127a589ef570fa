#include "lib/telemetry/status_server.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/telemetry/status.h"

namespace packline {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);

std::unique_ptr<StatusServer> started(const std::string& address,
                                      const std::string& port_file = {}) {
  auto server = StatusServer::start(address, port_file);
  REQUIRE_MESSAGE(server.has_value(), (server ? "" : server.error().text));
  return std::move(*server);
}

std::string at(const StatusServer& server) { return "127.0.0.1:" + std::to_string(server.port()); }

TEST_CASE("StatusServer: the document published last is served") {
  const auto server = started("127.0.0.1:0");
  const auto early = http_get(at(*server), "/status", kPatience);
  REQUIRE_FALSE(early.has_value());
  CHECK(early.error().text.find("answers 503") != std::string::npos);
  server->publish("{\"a\":1}");
  server->publish("{\"a\":2}");
  for (int i = 0; i < 3; ++i)
    CHECK(http_get(at(*server), "/status", kPatience).value() == "{\"a\":2}");
  CHECK(http_get(at(*server), "/healthz", kPatience).value() == "ok\n");
  CHECK(http_get(at(*server), "/nothing", kPatience).error().text.find("answers 404") !=
        std::string::npos);
}

TEST_CASE("StatusServer: the port of the system's choice is written to the file, whole") {
  char folder[] = "/tmp/pl-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const std::string file = std::string(folder) + "/port";
  {
    const auto server = started("127.0.0.1:0", file);
    std::ifstream in(file);
    int port = 0;
    REQUIRE(static_cast<bool>(in >> port));
    CHECK(port == server->port());
    CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  }
  const auto nowhere = StatusServer::start("127.0.0.1:0", std::string(folder) + "/no/port");
  REQUIRE_FALSE(nowhere.has_value());
  CHECK(nowhere.error().text.find("--http-port-file") == 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE(
    "StatusServer: a port that is in use, and an address that is none, are refused with a "
    "sentence") {
  const auto server = started("127.0.0.1:0");
  const auto second = StatusServer::start(at(*server));
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == ExitCode::kUnreachable);
  CHECK(second.error().text.find(at(*server)) != std::string::npos);
  for (const char* address : {"", "localhost", ":1", "h:70000", "h:x"}) {
    CHECK_FALSE(StatusServer::start(address).has_value());
  }
}

TEST_CASE("StatusServer: it starts and ends at once, many times") {
  int port = 0;
  for (int i = 0; i < 20; ++i) {
    const auto server = started("127.0.0.1:0");
    port = server->port();
  }
  const auto gone = http_get("127.0.0.1:" + std::to_string(port), "/status", kPatience);
  REQUIRE_FALSE(gone.has_value());
  CHECK(gone.error().code == ExitCode::kUnreachable);
}

TEST_CASE("StatusDocument: it has what the architecture says, in that order") {
  StatusDocument d;
  d.role = "sink";
  d.index = 3;
  d.session = 0x00AB34CD56EF7890;
  d.state = "serving";
  d.since_ms = 1200;
  d.holds = {{"slices", 4}};
  d.waits = {{"window 37", "producer-0", 900}};
  d.counters = {{"packs", 17}, {"evicted", 0}};
  CHECK(d.json() ==
        "{\"role\":\"sink\",\"index\":3,\"pid\":" + std::to_string(::getpid()) +
            ",\"session\":\"00ab34cd56ef7890\",\"state\":\"serving\",\"since_ms\":1200,"
            "\"holds\":{\"slices\":4},\"waits\":[{\"for\":\"window 37\",\"whom\":\"producer-0\","
            "\"since_ms\":900}],\"counters\":{\"packs\":17,\"evicted\":0}}");
  const Result<StatusDocument> back = StatusDocument::parse(d.json());
  REQUIRE(back.has_value());
  CHECK(back->pid == ::getpid());
  CHECK(back->json() == d.json());
  CHECK(back->held("slices") == 4);
  CHECK(back->counted("packs") == 17);
  CHECK(back->counted("none") == 0);
  d.index = -1;
  d.waits[0].what = "\xff";  // must not throw
  const auto j = nlohmann::json::parse(d.json());
  CHECK(j.at("index").is_null());
  CHECK(StatusDocument::parse(d.json())->index == -1);
}

TEST_CASE("StatusDocument: what is none is an error, whatever it is") {
  for (const char* text : {"", "{", "[]", "{\"role\":7}", "{\"role\":\"sink\"}", "\xff"}) {
    const Result<StatusDocument> d = StatusDocument::parse(text);
    REQUIRE_FALSE(d.has_value());
    CHECK(d.error().text.find("its status cannot be read: ") == 0);
  }
}

}  // namespace
}  // namespace packline

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/app/wait_log.h"
#include "lib/base/instant.h"
#include "lib/base/result.h"
#include "lib/delivery/role.h"
#include "lib/telemetry/status.h"
#include "lib/telemetry/status_server.h"

namespace packline {

// What a role shows of itself at /status, published by its own loop: a document that grows old is
// the sign of a loop that does not turn.
class RoleStatus {
 public:
  using Numbers = StatusDocument::Numbers;

  // A wait that lasts longer than `warn_after` is logged too.
  RoleStatus(std::string role, int index, std::uint64_t session, Duration warn_after);

  // Serves at `address` ("host:port"; port 0 = of the system's choice, written to `port_file`).
  Status serve(const std::string& address, const std::string& port_file);
  bool serving() const { return server_ != nullptr; }

  void publish(std::string_view state, Numbers holds, const std::vector<Wait>& waits,
               Numbers counters, Instant now);

 private:
  std::string role_;
  int index_;
  std::uint64_t session_;
  std::string state_;
  Instant state_since_{};
  WaitLog wait_log_;
  std::unique_ptr<StatusServer> server_;
};

// A random number for one life of a process; never 0.
std::uint64_t random_session();

}  // namespace packline

#include "lib/app/role_status.h"

#include <sys/random.h>

#include "lib/base/check.h"
#include "lib/telemetry/log.h"

namespace packline {

RoleStatus::RoleStatus(std::string role, int index, std::uint64_t session, Duration warn_after)
    : role_(std::move(role)), index_(index), session_(session), wait_log_(warn_after) {}

Status RoleStatus::serve(const std::string& address, const std::string& port_file) {
  auto server = StatusServer::start(address, port_file);
  if (!server) return tl::unexpected(server.error());
  server_ = std::move(*server);
  return {};
}

void RoleStatus::publish(std::string_view state, Numbers holds, const std::vector<Wait>& waits,
                         Numbers counters, Instant now) {
  if (state != state_) {
    state_ = state;
    state_since_ = now;
  }
  if (const auto said = wait_log_.due(waits, now)) {
    if (said->ordinary)
      log::info("{}", said->text);
    else
      log::warning("{}", said->text);
  }
  if (!serving()) return;
  StatusDocument d;
  d.role = role_;
  d.index = index_;
  d.session = session_;
  d.state = state_;
  d.since_ms = to_ms(now - state_since_);
  d.holds = std::move(holds);
  d.waits = waits;
  d.counters = std::move(counters);
  server_->publish(d.json());
}

std::uint64_t random_session() {
  std::uint64_t value = 0;
  while (value == 0) PL_CHECK(getrandom(&value, sizeof(value), 0) == sizeof(value));
  return value;
}

}  // namespace packline

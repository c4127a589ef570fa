#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/app/process.h"
#include "lib/client/subscriber.h"
#include "lib/config/job.h"
#include "lib/delivery/role.h"
#include "lib/telemetry/log.h"
#include "lib/transport/context.h"
#include "lib/transport/loop.h"
#include "lib/transport/socket.h"

namespace packline {

struct ClientOptions {
  std::uint32_t dp_rank = 0;
  std::uint32_t peer = 0;
  std::string sink;      // its base address
  bool say_done = true;  // at the job's end, so that the line ends; false: just leave
};

// A trainer rank without a trainer: socket and clock around the Subscriber machine.
class ClientLoop {
 public:
  static Result<std::unique_ptr<ClientLoop>> open(const Job& job, const ClientOptions& options);

  // Hands every pack to `take` until it returns false, the job ends, a signal arrives or something
  // fails.
  Exit run(Signals& signals, const std::function<bool(const Pack&)>& take);

 private:
  ClientLoop(const Job& job, const ClientOptions& options, TrainerSession session);
  void receive(Instant t);
  void send();
  void warn(Instant t);

  ClientOptions options_;
  Duration warn_after_;
  Context context_;
  std::optional<Socket> socket_;
  Loop loop_;
  Subscriber machine_;
  log::Limit limit_{std::chrono::seconds(10)};
  Instant warned_{};
};

}  // namespace packline

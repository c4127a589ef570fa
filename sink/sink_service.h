#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/app/process.h"
#include "lib/app/role_status.h"
#include "lib/app/service.h"
#include "lib/config/job.h"
#include "lib/delivery/role.h"
#include "lib/telemetry/log.h"
#include "lib/transport/context.h"
#include "lib/transport/loop.h"
#include "lib/transport/socket.h"
#include "sink/sink.h"

namespace packline {

struct SinkOptions {
  std::uint32_t dp_rank = 0;
  std::string http_port_file;  // "" = none
  // Where the trainer's progress is written for `packline run`; "" = nowhere.
  std::string progress_file;
};

// A sink's sockets and clock around the Sink machine. Until a producer's notice has told it which
// job this is, trainers are answered with whom it waits for.
class SinkService {
 public:
  static Result<std::unique_ptr<SinkService>> open(Job job, const SinkOptions& options);
  Exit run(Signals& signals);

 private:
  SinkService(Job job, const SinkOptions& options);
  Status connect();
  Status start_machine(const Notice& n, Instant t);
  void turn(Instant t);
  void take_notices(Instant t);
  void take_slices(Instant t);
  void take_subscribes(Instant t);
  void answer_unknown_job(const std::string& routing_id, const Subscribe& s, Instant t);
  void send_outputs();
  void write_progress(Instant t, bool last);
  void publish_status(Instant t);
  std::string unknown_job_sentence(Instant t) const;

  Job job_;
  SinkOptions options_;
  std::uint64_t session_;
  Context context_;
  std::optional<Socket> slices_, trainers_, notices_;
  std::vector<Socket> reports_;  // one a producer: a PUSH with several peers would deal, not copy
  Loop loop_;
  Loop::Id slices_id_ = 0;
  RoleStatus status_;
  log::Limit limit_{std::chrono::seconds(10)};
  BadMessages bad_{limit_};
  std::optional<Sink> machine_;  // once the job is known
  std::optional<Exit> failed_;
  Instant started_;
  Instant publish_at_{};
  Instant progress_at_{};
  std::string progress_written_;
  bool done_written_ = false;
};

}  // namespace packline

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/app/process.h"
#include "lib/app/role_status.h"
#include "lib/app/service.h"
#include "lib/base/result.h"
#include "lib/config/job.h"
#include "lib/delivery/role.h"
#include "lib/encoders/encoder_processes.h"
#include "lib/telemetry/log.h"
#include "lib/transport/context.h"
#include "lib/transport/loop.h"
#include "lib/transport/socket.h"
#include "lib/transport/wake.h"
#include "lib/wire/codec.h"
#include "producer/maker_thread.h"
#include "producer/producer.h"

namespace packline {

struct ProducerOptions {
  std::uint32_t index = 0;
  std::string http_port_file;  // "" = none
};

// A producer's sockets, threads and clock around the Producer machine and the MakerThread. One
// loop: reports and windows in, windows and notices out.
class ProducerService {
 public:
  // Opens the data, binds the addresses. Errors: a wrong job, refused data, an address in use.
  static Result<std::unique_ptr<ProducerService>> open(Job job, const ProducerOptions& options);

  // Until the line is finished, a signal, or an error.
  Exit run(Signals& signals);

 private:
  ProducerService(Job job, const ProducerOptions& options);
  Status bind();
  Result<std::unique_ptr<Encoders>> open_encoders(const Job& job);
  void start(std::unique_ptr<WindowMaker> maker);
  void turn(Instant t);
  bool send(const Window& w);
  void take_reports(Instant t);
  void take_windows(Instant t);
  bool is_empty_epoch(const ClosedWindow& w) const;
  void take_trouble(const MakerThread::Made& made, Instant t);
  void publish(Instant t);
  void publish_status(Instant t);
  void add_encoders(RoleStatus::Numbers& holds, RoleStatus::Numbers& counters,
                    std::vector<Wait>& waits) const;

  // The window that no packer could take, ready to be sent.
  struct Blocked {
    WindowKey key;
    std::string before;
    std::vector<Destination> to;
    Frames frames;
  };

  Job job_;
  ProducerOptions options_;
  std::uint64_t session_;
  std::uint64_t records_ = 0;
  Context context_;
  std::optional<Socket> windows_, reports_, notices_;
  Wake wake_;
  Loop loop_;
  Loop::Id windows_id_ = 0;
  RoleStatus status_;
  log::Limit limit_{std::chrono::seconds(10)};
  BadMessages bad_{limit_};
  std::optional<Producer> machine_;
  std::optional<Blocked> blocked_;
  std::shared_ptr<EncoderProcesses> encoders_;  // none where records are encoded in this process
  std::optional<MakerThread> maker_;
  std::optional<Exit> failed_;  // the data or the disk made going on impossible
  Instant publish_at_{};
};

}  // namespace packline

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lib/app/process.h"
#include "lib/app/role_status.h"
#include "lib/app/service.h"
#include "lib/config/job.h"
#include "lib/delivery/role.h"
#include "lib/telemetry/log.h"
#include "lib/transport/context.h"
#include "lib/transport/loop.h"
#include "lib/transport/socket.h"
#include "packer/packer.h"
#include "packer/slice_outlet.h"

namespace packline {

struct PackerOptions {
  std::string http_port_file;  // "" = no status
};

// A packer's sockets and clock around the Packer machine. It takes windows only once a producer's
// notice has told it which job this is.
class PackerService {
 public:
  static Result<std::unique_ptr<PackerService>> open(Job job, const PackerOptions& options);
  Exit run(Signals& signals);

 private:
  explicit PackerService(Job job);
  Status connect(const PackerOptions& options);
  void turn(Instant t);
  void take_notices(Instant t);
  bool take_window(Instant t);
  void send_slices(std::vector<PackedSlice> slices, Instant t);
  SliceOutlet* outlet(const std::string& endpoint, Instant t);
  void flush(Instant t);
  bool congested(Instant t) const;
  void drain();
  void publish_status(Instant t);

  Job job_;
  std::uint64_t session_;
  Context context_;
  std::optional<Socket> windows_, notices_;
  struct Outlet {
    SliceOutlet way;
    Loop::Id id;
  };
  std::map<std::string, Outlet> outlets_;  // by endpoint
  Loop loop_;
  Loop::Id windows_id_ = 0;
  RoleStatus status_;
  log::Limit limit_{std::chrono::seconds(10)};
  BadMessages bad_{limit_};
  std::optional<Packer> machine_;  // once the job is known
  std::optional<Exit> failed_;
  Instant started_;
  std::uint64_t slices_dropped_ = 0;
  Instant publish_at_{};
};

}  // namespace packline

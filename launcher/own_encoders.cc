#include "launcher/own_encoders.h"

#include <fmt/format.h>

#include "launcher/encoder_command.h"
#include "lib/app/role_status.h"
#include "lib/config/addresses.h"
#include "lib/telemetry/log.h"

namespace packline {
namespace {

constexpr int kDeathsMax = 5;  // of one process, for reasons of its own

}  // namespace

Result<std::unique_ptr<Encoders>> OwnEncoders::open(const Job& job) {
  if (!in_processes(job.encode.kind)) return open_encoders_here(job);
  Result<RunFolder> folder = RunFolder::make(job);
  if (!folder) return tl::unexpected(folder.error());
  folder_.emplace(std::move(*folder));
  const std::string base = folder_->address("producer-0");
  for (std::uint32_t i = 0; i < job.encode.processes; ++i) {
    ChildSpec spec = encoder_spec(job, {base}, i, log_format_);
    std::string name = spec.name;
    specs_.emplace(std::move(name), std::move(spec));
  }
  EncoderProcessesSettings settings;
  settings.address = port_of(base, kEncodersPort);
  settings.encode = job.encode;
  settings.session = random_session();
  settings.warn_after = job.deliver.times.warn_after;
  settings.each_turn = [this] { return look_after(); };
  auto processes = EncoderProcesses::open(context_, std::move(settings));
  if (!processes) return tl::unexpected(processes.error());
  return EncoderProcesses::encoders(std::move(*processes));
}

Status OwnEncoders::look_after() {
  if (!started_) {
    started_ = true;
    for (const auto& [name, spec] : specs_)
      if (auto pid = children_.start(spec); !pid) return tl::unexpected(pid.error());
  }
  for (const ChildExit& e : children_.reap()) {
    if (e.signal == 0 && e.code == static_cast<int>(ExitCode::kWrongJob)) {
      return fail(
          ExitCode::kWrongJob,
          fmt::format("{} ended with {}: what it says above is to be mended", e.name, describe(e)));
    }
    if (++deaths_[e.name] >= kDeathsMax) {
      return fail(ExitCode::kUnreachable, fmt::format("{} died {} times, the last time by {}",
                                                      e.name, kDeathsMax, describe(e)));
    }
    log::warning("{} (pid {}) died by {}; it is started again", e.name, e.pid, describe(e));
    if (auto pid = children_.start(specs_.at(e.name)); !pid) return tl::unexpected(pid.error());
  }
  return {};
}

}  // namespace packline

#include "packer/packer_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/config/addresses.h"
#include "lib/config/adopt.h"
#include "lib/transport/clock.h"
#include "lib/wire/codec.h"

namespace packline {
namespace {

using namespace std::chrono_literals;

constexpr Duration kOutletIdle = 60s;  // a sink that moved away is forgotten after this
constexpr int kWindowsATurn = 8;       // then notices and the clock get their turn

std::vector<std::string> ports_of(const std::vector<std::string>& bases, int port) {
  std::vector<std::string> out;
  for (const std::string& base : bases) out.push_back(port_of(base, port));
  return out;
}

}  // namespace

PackerService::PackerService(Job job)
    : job_(std::move(job)),
      session_(random_session()),
      status_("packer", -1, session_, job_.deliver.times.warn_after),
      started_(now()) {}

Result<std::unique_ptr<PackerService>> PackerService::open(Job job, const PackerOptions& options) {
  std::unique_ptr<PackerService> s(new PackerService(std::move(job)));
  if (Status ok = s->connect(options); !ok) return tl::unexpected(ok.error());
  return s;
}

Status PackerService::connect(const PackerOptions& options) {
  auto windows = Socket::pull_connect(context_, ports_of(job_.line.producers, kDataPort),
                                      SocketOptions::windows());
  if (!windows) return tl::unexpected(windows.error());
  auto notices = Socket::sub_connect(context_, ports_of(job_.line.producers, kNoticesPort));
  if (!notices) return tl::unexpected(notices.error());
  windows_.emplace(std::move(*windows));
  notices_.emplace(std::move(*notices));
  windows_id_ = loop_.watch(*windows_);
  loop_.wake_when_readable(windows_id_, false);  // until the job is known
  loop_.watch(*notices_);
  // Connections take a moment; those that the job file names are made before the first slice.
  for (const std::string& sink : job_.line.sinks) outlet(port_of(sink, kDataPort), started_);
  if (options.http_port_file.empty()) return {};
  return status_.serve("127.0.0.1:0", options.http_port_file);
}

Exit PackerService::run(Signals& signals) {
  loop_.watch(signals.fd());
  while (true) {
    const Instant t = now();
    turn(t);
    if (failed_) return *failed_;
    if (machine_ && machine_->exit()) return *machine_->exit();
    if (signals.read() != Signals::Stop::kNo) {
      drain();
      return {signals.exit_code(), "ended by a signal"};
    }
    // What is congested wakes the loop when it can be written; until then no window does.
    loop_.wake_when_readable(windows_id_, machine_ && !congested(t));
    for (const auto& [endpoint, o] : outlets_) loop_.wake_when_writable(o.id, o.way.congested(t));
    loop_.wait(std::min(t + kTurn, publish_at_));
  }
}

void PackerService::turn(Instant t) {
  take_notices(t);
  flush(t);
  for (int i = 0; machine_ && i < kWindowsATurn && !congested(t) && take_window(now()); ++i)
    flush(now());
  if (machine_) machine_->tick(t);
  if (!machine_ && t - started_ > job_.deliver.times.fail_after) {
    failed_ = Exit{ExitCode::kUnreachable,
                   fmt::format("no producer was heard for {}: is one running at {}?",
                               in_words(t - started_), job_.line.producers.front())};
  }
  if (t >= publish_at_) {
    publish_at_ = t + job_.deliver.times.report;
    publish_status(t);
  }
}

void PackerService::take_notices(Instant t) {
  while (auto in = notices_->receive()) {
    const Result<Notice> decoded = decode_as<Notice>(in->frames);
    if (!decoded) {
      bad_.drop("notice", in->peer, decoded.error(), t);
      continue;
    }
    const Notice& n = *decoded;
    if (!machine_) {
      const std::string whom = fmt::format("producer {}", n.producer);
      if (Status ok = adopt_identity(job_, n.identity, n.envelope.job, whom); !ok) {
        failed_ = Exit{ok.error().code, ok.error().text};
        return;
      }
      PackerSettings settings;
      settings.pack = job_.pack;
      settings.job = job_.shape();
      settings.producers = static_cast<std::uint32_t>(job_.line.producers.size());
      settings.times = job_.deliver.times;
      machine_.emplace(settings, t);
    }
    if (n.envelope.job != job_.fingerprint) {
      log::warning_once(
          limit_, "other_job", t, "{}",
          other_job_sentence(job_, n.identity, fmt::format("producer {}", n.producer)));
    }
    machine_->on_notice(n, t);
  }
}

bool PackerService::take_window(Instant t) {
  auto in = windows_->receive();
  if (!in) return false;
  const Result<Window> w = decode_as<Window>(in->frames);
  if (!w) {
    bad_.drop("window", in->peer, w.error(), t);
    return true;
  }
  auto slices = machine_->on_window(*w, t);
  if (!slices) {
    log::warning_once(limit_, "refused_window", t, "refused a window from {}: {}", in->peer,
                      slices.error().text);
    return true;
  }
  send_slices(std::move(*slices), t);
  return true;
}

void PackerService::send_slices(std::vector<PackedSlice> slices, Instant t) {
  for (PackedSlice& s : slices) {
    for (std::size_t i = 0; i < s.packs.size(); ++i)
      s.slice.parts[i].frames = encode_samples(s.packs[i]);
    SliceOutlet* out = outlet(s.endpoint, t);
    if (out == nullptr || !out->send(encode(std::move(s.slice)), t)) ++slices_dropped_;
  }
}

SliceOutlet* PackerService::outlet(const std::string& endpoint, Instant t) {
  if (const auto found = outlets_.find(endpoint); found != outlets_.end())
    return &found->second.way;
  auto socket = Socket::push_connect(context_, endpoint);
  if (!socket) {
    log::warning_once(limit_, "bad_endpoint", t, "a window names a sink that cannot be reached: {}",
                      socket.error().text);
    return nullptr;
  }
  Outlet& o = outlets_.emplace(endpoint, Outlet{SliceOutlet(std::move(*socket)), 0}).first->second;
  o.id = loop_.watch(o.way.socket());
  loop_.wake_when_readable(o.id, false);
  return &o.way;
}

bool PackerService::congested(Instant t) const {
  return std::any_of(outlets_.begin(), outlets_.end(),
                     [&](const auto& o) { return o.second.way.congested(t); });
}

void PackerService::flush(Instant t) {
  for (auto it = outlets_.begin(); it != outlets_.end();) {
    SliceOutlet& way = it->second.way;
    slices_dropped_ += way.flush(t);
    const bool idle = !way.waiting() && t - std::max(way.used(), started_) > kOutletIdle;
    if (idle) loop_.forget(it->second.id);
    it = idle ? outlets_.erase(it) : std::next(it);
  }
}

// What has arrived is packed and sent; what is still on its way comes again by its lease.
void PackerService::drain() {
  for (std::size_t i = 0; machine_ && i < 4 * job_.line.producers.size() && take_window(now()); ++i)
    flush(now());
  flush(now());
  for (auto& [endpoint, out] : outlets_) out.way.set_linger(kLastWords);
}

void PackerService::publish_status(Instant t) {
  const auto blocked = std::count_if(outlets_.begin(), outlets_.end(),
                                     [](const auto& o) { return o.second.way.waiting(); });
  const RoleStatus::Numbers holds = {
      {"sinks_blocked", static_cast<std::uint64_t>(blocked)},
      {"producers_connected", static_cast<std::uint64_t>(windows_->peers())}};
  if (!machine_) {
    status_.publish("waiting", holds,
                    {{"a notice", fmt::format("producers at {}", job_.line.producers.front()),
                      elapsed_ms(started_, t)}},
                    {}, t);
    return;
  }
  const PackerCounters& c = machine_->counters();
  status_.publish("packing", holds, machine_->waits(t),
                  {{"windows", c.windows},
                   {"packs", c.packs},
                   {"slices", c.slices},
                   {"slices_dropped", slices_dropped_},
                   {"refused_other_job", c.refused_other_job},
                   {"refused_bad", c.refused_bad},
                   {"bad_messages", bad_.count()}},
                  t);
}

}  // namespace packline

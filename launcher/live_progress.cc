#include "launcher/live_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "launcher/role_names.h"

namespace packline {
namespace {

using namespace std::chrono_literals;

constexpr auto kOnTerminal = 500ms;
constexpr auto kElsewhere = 10s;
constexpr Duration kAskTimeout = 100ms;

std::string short_number(double v) {
  if (v >= 1e9) return fmt::format("{:.1f} G", v / 1e9);
  if (v >= 1e6) return fmt::format("{:.1f} M", v / 1e6);
  if (v >= 1e4) return fmt::format("{:.1f} k", v / 1e3);
  return fmt::format("{:.0f}", v);
}

std::string minutes(double seconds) {
  const auto s = static_cast<std::uint64_t>(seconds);
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

LineSample sample_of(const Job& job, const std::vector<RoleDocument>& roles, double at_s) {
  LineSample s;
  s.at_s = at_s;
  std::uint64_t records_an_epoch = 0;
  std::size_t sinks = 0, sinks_full = 0, sinks_heard = 0;
  for (const RoleDocument& role : roles) {
    if (serves_eval(role.name)) continue;
    const StatusDocument& d = role.document;
    if (d.role == "producer") {
      s.windows_closed += d.counted("windows_closed");
      s.windows_held += d.held("windows");
      records_an_epoch = std::max(records_an_epoch, d.held("records_an_epoch"));
    } else if (d.role == "sink") {
      ++sinks;
      s.slices_held += d.held("slices");
      s.packs += d.counted("packs_taken");
      s.tokens += d.counted("tokens_taken");
      s.records = std::max(s.records, d.counted("records_passed"));
      s.losses = std::max(s.losses, d.counted("losses_passed"));
      if (d.held("room") == 0) ++sinks_full;
      // It is told of a trainer that has subscribed.
      sinks_heard += std::ranges::any_of(d.holds, [](const auto& h) { return h.first == "room"; });
    }
  }
  s.windows_room = std::uint64_t{job.lanes} * job.deliver.window_credit;
  s.slices_room = s.windows_room * job.deliver.dp_size;
  s.trainers_full = sinks > 0 && sinks_full == sinks;
  s.trainers_absent = sinks > 0 && sinks_heard == 0;
  if (job.epochs != kContinuous) s.records_in_all = records_an_epoch * job.epochs;
  return s;
}

std::string limiting_stage(const LineSample& s) {
  if (s.trainers_absent) return "the trainer, no rank of which has subscribed yet";
  if (s.trainers_full && 2 * s.slices_held >= s.slices_room) return "the trainer";
  if (2 * s.windows_held < s.windows_room) return "reading and encoding";
  if (2 * s.slices_held < s.slices_room) return "packing";
  return "the trainer";
}

std::string progress_line(const Job& job, const LineSample& before, const LineSample& now) {
  const double dt = now.at_s - before.at_s;
  // A sink that was started again tells less than before until its trainer speaks to it.
  const auto rate = [&](std::uint64_t b, std::uint64_t n) {
    return dt > 0 && n > b ? static_cast<double>(n - b) / dt : 0.0;
  };
  const double room = static_cast<double>(now.packs) * job.pack.capacity;
  std::string left;
  if (now.records_in_all > 0 && now.records > 0) {
    const double done = static_cast<double>(now.records) / static_cast<double>(now.records_in_all);
    left = fmt::format("  {:.0f} %  left {}", 100 * done, minutes(now.at_s * (1 - done) / done));
  }
  return fmt::format(
      "windows {}  packs {}  {}/s  tokens {}/s  fill {:.1f} %  queue: producers {}/{}, sinks {}/{} "
      " limits: {}{}{}",
      now.windows_closed, now.packs, short_number(rate(before.packs, now.packs)),
      short_number(rate(before.tokens, now.tokens)),
      room > 0 ? 100 * static_cast<double>(now.tokens) / room : 0.0, now.windows_held,
      now.windows_room, now.slices_held, now.slices_room, limiting_stage(now),
      now.losses > 0 ? fmt::format("  lost {}", now.losses) : "", left);
}

LiveProgress::LiveProgress(const Job& job, std::string run_folder)
    : job_(job),
      run_folder_(std::move(run_folder)),
      terminal_(isatty(STDERR_FILENO) == 1),
      started_(Clock::now()),
      shown_(started_) {}

void LiveProgress::update() {
  const auto now = Clock::now();
  if (now - shown_ < (terminal_ ? Clock::duration(kOnTerminal) : Clock::duration(kElsewhere)))
    return;
  shown_ = now;
  const LineSample s = sample_of(job_, ask_all(addresses_in(run_folder_), kAskTimeout),
                                 std::chrono::duration<double>(now - started_).count());
  const std::string line = progress_line(job_, before_, s);
  before_ = s;
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r\x1b[K" : "", line, terminal_ ? "" : "\n");
  std::fflush(stderr);
}

void LiveProgress::clear() {
  if (!terminal_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace packline

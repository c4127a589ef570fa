#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "launcher/commands.h"
#include "launcher/line_run.h"
#include "launcher/live_progress.h"
#include "launcher/run_folder.h"
#include "launcher/summary.h"
#include "lib/app/process.h"
#include "lib/packing/advice.h"
#include "lib/telemetry/log.h"
#include "lib/telemetry/progress_json.h"
#include "lib/transport/clock.h"
#include "lib/windows/quarantine.h"

namespace packline {
namespace {

constexpr int kTurnMs = 20;
constexpr Duration kCheckEvery = std::chrono::seconds(2);  // of the ledgers of epochs that ended

LineFile line_file(const Job& job, const RunCommand& c, const RunFolder& folder) {
  LineFile line;
  line.job = std::filesystem::absolute(c.job.file).lexically_normal().string();
  line.sets = c.job.sets;
  line.pid = getpid();
  for (std::uint32_t i = 0; i < c.producers; ++i)
    line.producers.push_back(folder.address(fmt::format("producer-{}", i)));
  for (std::uint32_t r = 0; r < job.deliver.dp_size; ++r)
    line.sinks.push_back(folder.address(fmt::format("sink-{}", r)));
  if (job.split == Split::kEval) {
    line.eval_producers = line.producers;
    line.eval_sinks = line.sinks;
  } else if (job.eval.fraction > 0 && !c.on_private_line) {
    line.eval_producers.push_back(folder.address("eval-producer-0"));
    for (std::uint32_t r = 0; r < job.deliver.dp_size; ++r)
      line.eval_sinks.push_back(folder.address(fmt::format("eval-sink-{}", r)));
  }
  line.folder = folder.path();
  line.dp_size = job.deliver.dp_size;
  line.ranks_per_dp_rank = job.deliver.ranks_per_dp_rank;
  line.warn_after_s = static_cast<double>(to_ms(job.deliver.times.warn_after)) / 1000;
  line.fail_after_s = static_cast<double>(to_ms(job.deliver.times.fail_after)) / 1000;
  return line;
}

Status check_counts(const Job& job, const RunCommand& c) {
  if (c.producers > job.lanes) {
    return fail(ExitCode::kWrongJob,
                fmt::format("--producers {}: the job has {} lanes, and a producer owns at least "
                            "one; set lanes: {} (that changes "
                            "the stream) or start fewer",
                            c.producers, job.lanes, c.producers));
  }
  if (c.on_private_line) return {};
  const LineSettings& named = job.line;
  if (!named.producers.empty() || !named.sinks.empty() || !named.eval_producers.empty() ||
      !named.eval_sinks.empty()) {
    return fail(
        ExitCode::kWrongJob,
        fmt::format(
            "{}: line: `packline run` makes the line's addresses itself; start each role by "
            "hand for these, or leave `line` out",
            c.job.file));
  }
  return {};
}

// A private line is nobody's to find.
Status publish(const Job& job, const RunCommand& c, const RunFolder& folder, std::int64_t pid) {
  if (c.on_private_line) return {};
  const Result<std::int64_t> other = folder.publish(pid);
  if (!other) return tl::unexpected(other.error());
  if (*other != 0) {
    log::warning(
        "process {} runs this job already: {}/run.json goes on naming its line, which is "
        "what `packline status` shows; give one of the two another state folder (state, or "
        "--set state=...) to see and describe both",
        *other, job.state);
  }
  return {};
}

// Runs turn after turn until every child has ended.
int watch(const Job& job, LineRun& line, Signals& signals, LiveProgress* progress) {
  bool told = false;
  Instant check_at = now() + kCheckEvery;
  while (true) {
    if (const std::optional<int> code = line.turn()) return *code;
    const Signals::Stop stop = signals.read();
    if (stop != Signals::Stop::kNo && !told) {
      told = true;
      line.stop(static_cast<int>(signals.exit_code()), SIGTERM);
    }
    if (stop == Signals::Stop::kNow) line.stop_now();
    if (progress != nullptr) progress->update();
    if (now() >= check_at) {
      check_at = now() + kCheckEvery;
      if (Status ok = check_epochs(job, line.progress()); !ok) {
        line.fail_line(static_cast<int>(ok.error().code), ok.error().text);
      }
    }
    pollfd wake{signals.fd(), POLLIN, 0};
    poll(&wake, told ? 0 : 1, kTurnMs);
  }
}

// Prints the summary and holds it against the laws; returns the exit code.
int conclude(const Job& job, const RunCommand& c, const LineRun& line, int code) {
  const std::vector<RankProgress> ranks = line.progress();
  Summary summary = summarise(job, ranks);
  summary.restarts = line.restarts();
  summary.seconds = line.seconds();
  if (!ranks.empty()) {
    Job identified = job;
    identified.fingerprint = ranks.front().job;
    summary.quarantine = Quarantine(identified).folder();
  }
  if (!c.summary_file.empty()) {
    std::ofstream out(c.summary_file, std::ios::trunc);
    out << summary_json(job, summary);
    out.close();
    if (!out)
      return complain(
          {ExitCode::kWrongJob, fmt::format("--summary {}: it cannot be written", c.summary_file)});
  }
  // The command's output is its own; without one the summary is what this program prints.
  if (!c.on_private_line) {
    fmt::print(c.command.empty() ? stdout : stderr, "{}", summary_text(job, summary));
    fmt::print(stderr, "{}", loss_warnings(job, summary.total));
    const std::string too_few =
        summary.whole && !summary.epochs.empty()
            ? too_few_packs(summary.epochs.front().counts.packs, job.deliver.dp_size,
                            job.deliver.packs_per_optimizer_step)
            : "";
    if (!too_few.empty()) fmt::print(stderr, "packline: warning: an epoch: {}\n", too_few);
  }
  if (code != 0) return code;
  if (Status ok = check_epochs(job, ranks); !ok) return complain(ok.error());
  return code;
}

}  // namespace

int run_command(const RunCommand& c) {
  Signals signals;  // before the first child: from here on nobody can be left behind
  Job job;
  if (!load_or_complain(c.job, job)) return static_cast<int>(ExitCode::kWrongJob);
  log::configure(c.job.log_format, {job.name, "packline"});
  if (Status ok = check_counts(job, c); !ok) return complain(ok.error());
  Result<RunFolder> folder = RunFolder::make(job);
  if (!folder) return complain(folder.error());
  const LineFile told = line_file(job, c, *folder);
  if (Status ok = folder->write_line(told); !ok) return complain(ok.error());
  if (Status ok = publish(job, c, *folder, told.pid); !ok) return complain(ok.error());
  LineRun line(job, c, told, *folder);
  if (Status ok = line.start(); !ok) return complain(ok.error());
  LiveProgress progress(job, folder->path());
  const int code = watch(job, line, signals, c.on_private_line ? nullptr : &progress);
  progress.clear();
  if (!line.reason().empty()) fmt::print(stderr, "packline: the line ended: {}\n", line.reason());
  return conclude(job, c, line, code);
}

}  // namespace packline

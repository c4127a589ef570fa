#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "launcher/commands.h"
#include "launcher/own_encoders.h"
#include "launcher/report_page.h"
#include "lib/delivery/ledger_check.h"
#include "lib/telemetry/log.h"
#include "lib/windows/epoch_advice.h"
#include "lib/windows/epoch_count.h"
#include "lib/windows/window_maker.h"

namespace packline {
namespace {

// Whole or not at all: what stood there before stays until the page is written.
Status write_page(const std::string& path, const std::string& page) {
  const std::string beside = fmt::format("{}.{}.tmp", path, ::getpid());
  const auto failed = [&] {
    const int why = errno;
    std::remove(beside.c_str());
    return fail(ExitCode::kWrongJob,
                fmt::format("the report {} could not be written: {}; name another file with -o",
                            path, std::strerror(why)));
  };
  std::FILE* file = std::fopen(beside.c_str(), "wb");
  if (file == nullptr) return failed();
  const bool wrote = std::fwrite(page.data(), 1, page.size(), file) == page.size();
  const int why = errno;
  if (std::fclose(file) != 0) return failed();
  if (!wrote) return errno = why, failed();
  if (std::rename(beside.c_str(), path.c_str()) != 0) return failed();
  return {};
}

Status check_epoch_exists(const Job& job, std::uint64_t epoch) {
  if (epoch < job.epochs) return {};
  return fail(ExitCode::kWrongJob,
              fmt::format("--epoch {}: the job has epochs 0 to {}; name one of these", epoch,
                          job.epochs - 1));
}

}  // namespace

int report_command(const PageCommand& c) {
  Job job;
  if (!load_or_complain(c.job, job)) return static_cast<int>(ExitCode::kWrongJob);
  if (Status ok = check_epoch_exists(job, c.epoch); !ok) return complain(ok.error());
  say_pipe(job);
  OwnEncoders encoders(c.job);
  const auto maker =
      open_job(job, [](const std::string& text) { log::info("{}", text); }, encoders.opener());
  if (!maker) return complain(maker.error());
  const Result<EpochCount> e = EpochCounter(job, **maker).count(c.epoch);
  if (!e) return complain(e.error());
  if (Status ok = check_ledger(e->ledger, e->samples, e->tokens); !ok) return complain(ok.error());
  const Advice advice = advice_on(job, *e);
  const std::vector<EpochWarning> warnings = warnings_on(job, *e, advice);
  for (const EpochWarning& w : warnings)
    fmt::print(stderr, "packline: warning: epoch {}: {}\n", c.epoch, w.text);
  if (Status ok = write_page(c.page, report_page(job, *e, advice, warnings)); !ok)
    return complain(ok.error());
  fmt::print("{}: epoch {}, {} packs, fill {:.2f} %\n", c.page, c.epoch, e->packs, 100 * e->fill());
  return 0;
}

}  // namespace packline

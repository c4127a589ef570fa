#include <fmt/format.h>

#include "launcher/commands.h"

namespace packline {

bool load_or_complain(const JobOption& option, Job& job) {
  LoadedJob loaded = load_job(option.file, option.sets);
  job = std::move(loaded.job);
  if (loaded.mistakes.empty()) return true;
  complain(loaded.mistakes);
  return false;
}

void say_pipe(const Job& job) {
  for (const SourceSettings& source : job.sources) {
    if (!source.pipe) continue;
    log::info(
        "reads the pipe {} to its end, and what was read is gone: let its writer begin anew for "
        "the training",
        source.pattern);
  }
}

int complain(const std::vector<Mistake>& mistakes) {
  for (const Mistake& m : mistakes) fmt::print(stderr, "{}\n", m.line_text());
  return static_cast<int>(ExitCode::kWrongJob);
}

int complain(const Error& error) {
  fmt::print(stderr, "packline: {}\n", error.text);
  return static_cast<int>(error.code);
}

}  // namespace packline

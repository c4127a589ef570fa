#include "lib/config/adopt.h"

#include <fmt/format.h>

#include <algorithm>

namespace packline {
namespace {

// What only a process that sees the data and the model can say.
bool needs_data(const std::string& key) {
  return key == "encoder" || key == "sources.all" || key.ends_with(".content") ||
         key == kPacksInEveryEpoch;
}

}  // namespace

Status adopt_identity(Job& job, const Identity& told, std::uint64_t fingerprint,
                      const std::string& whom) {
  if (fingerprint_of(told) != fingerprint) {
    return fail(ExitCode::kWrongJob,
                fmt::format("{} names a fingerprint that is not that of its settings; run the same "
                            "release of packline everywhere",
                            whom));
  }
  Job own = job;
  identify(own, std::vector<std::uint64_t>(job.sources.size(), 0), "");
  auto without_data = [](auto identity) {
    std::erase_if(identity, [](const auto& entry) { return needs_data(entry.first); });
    return identity;
  };
  const std::string differs = first_difference(without_data(own.identity), without_data(told));
  if (!differs.empty()) {
    return fail(ExitCode::kWrongJob,
                fmt::format("{} runs another job: {} there; give every process the same job file",
                            whom, differs));
  }
  job.identity = told;
  job.fingerprint = fingerprint;
  return {};
}

std::string other_job_sentence(const Job& adopted, const Identity& told, const std::string& whom) {
  std::string differs = first_difference(told, adopted.identity);
  if (differs.empty()) differs = "its fingerprint is not that of its settings";
  const bool data = needs_data(differs.substr(0, differs.find(':')));
  return fmt::format("{} runs another job than this line ({}){}: it is not listened to; {}", whom,
                     differs, data ? ", its data or model are not what they were" : "",
                     "give every process the same job and data, or start the whole line again");
}

}  // namespace packline

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "launcher/commands.h"
#include "lib/telemetry/json_dump.h"
#include "lib/windows/memory_bound.h"

namespace packline {
namespace {

using Json = nlohmann::ordered_json;

Json bound_json(const MemoryBound& b) {
  return {{"producer", b.producer}, {"packer", b.packer}, {"sink", b.sink}, {"client", b.client}};
}

std::string bound_text(const MemoryBound& b) {
  const auto mib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  return fmt::format("producer {:.0f}   packer {:.0f}   sink {:.0f}   trainer client {:.0f}",
                     mib(b.producer), mib(b.packer), mib(b.sink), mib(b.client));
}

// Of the line that serves the job's eval split beside it; nothing where there is none.
std::optional<MemoryBound> eval_bound(const ReportCommand& c, const Job& job) {
  if (job.split == Split::kEval || job.eval.fraction == 0) return std::nullopt;
  std::vector<std::string> sets = c.job.sets;
  sets.push_back("split=eval");
  const Job eval = load_job(c.job.file, sets).job;
  return memory_bound(eval, assumptions_for(eval, 1));
}

int complain_as_json(const std::vector<Mistake>& mistakes) {
  Json list = Json::array();
  for (const Mistake& m : mistakes) {
    list.push_back({{"file", m.file}, {"line", m.line}, {"key", m.key}, {"text", m.text}});
  }
  fmt::print("{}\n", dump_json(Json{{"mistakes", std::move(list)}}, 2));
  return static_cast<int>(ExitCode::kWrongJob);
}

}  // namespace

int check_command(const ReportCommand& c) {
  LoadedJob loaded = load_job(c.job.file, c.job.sets);
  if (!loaded.mistakes.empty()) {
    return c.json ? complain_as_json(loaded.mistakes) : complain(loaded.mistakes);
  }
  const Job& job = loaded.job;
  const auto producers =
      static_cast<std::uint32_t>(std::max<std::size_t>(1, job.line.producers.size()));
  const MemoryBound bound = memory_bound(job, assumptions_for(job, producers));
  const std::optional<MemoryBound> eval = eval_bound(c, job);
  if (c.json) {
    Json bounds = bound_json(bound);
    if (eval) bounds["eval"] = bound_json(*eval);
    const Json out = {{"mistakes", Json::array()},
                      {"settings", effective_yaml(job)},
                      {"memory_bound_bytes", std::move(bounds)},
                      {"memory_bound_bytes_a_sample", {{"producer", bound.producer_a_sample}}}};
    fmt::print("{}\n", dump_json(out, 2));
    return 0;
  }
  fmt::print("{}\n# memory bound of one process (anonymous, MiB), with {} producer{}:\n#   {}\n",
             effective_yaml(job), producers, producers == 1 ? "" : "s", bound_text(bound));
  if (bound.producer_a_sample > 0) {
    fmt::print(
        "#   and of each producer {} bytes more a sample of an epoch (pack.plan: global): {} MiB "
        "for ten million\n",
        bound.producer_a_sample, (bound.producer_a_sample * 10'000'000) >> 20U);
  }
  if (eval) {
    fmt::print("# and of one that serves the eval split beside it, with 1 producer:\n#   {}\n",
               bound_text(*eval));
  }
  return 0;
}

}  // namespace packline

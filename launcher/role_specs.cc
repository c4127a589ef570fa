#include "launcher/role_specs.h"

#include <fmt/format.h>

#include <filesystem>

#include "launcher/role_names.h"

namespace packline {
namespace {

std::string yaml_list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) out += (out.size() > 1 ? ", \"" : "\"") + item + "\"";
  return out + "]";
}

// The line of one split.
struct SplitLine {
  std::string prefix;             // of its roles' names
  std::vector<std::string> sets;  // --set arguments beyond the command's
  std::size_t producers = 1;
  std::uint32_t packers = 1;
};

SplitLine line_of(Split split, const std::vector<std::string>& producers,
                  const std::vector<std::string>& sinks) {
  const std::string of_split = split == Split::kEval ? "line.eval_" : "line.";
  return {.prefix = "",
          .sets = {of_split + "producers=" + yaml_list(producers),
                   of_split + "sinks=" + yaml_list(sinks)},
          .producers = producers.size()};
}

void add_roles(std::vector<ChildSpec>& out, const SplitLine& split, const Job& job,
               const RunCommand& command, const RunFolder& folder) {
  const auto add = [&](const std::string& role, std::size_t i, std::vector<std::string> own) {
    const std::string name = fmt::format("{}{}-{}", split.prefix, role, i);
    std::vector<std::string> argv = {sibling_executable("packline-" + role), "--config",
                                     command.job.file};
    argv.insert(argv.end(), own.begin(), own.end());
    for (const auto* sets : {&command.job.sets, &split.sets}) {
      for (const std::string& s : *sets) argv.insert(argv.end(), {"--set", s});
    }
    argv.insert(argv.end(), {"--log-format", std::string(name_of(command.job.log_format))});
    argv.insert(argv.end(), {"--http-port-file", folder.port_file(name)});
    if (role == "sink") argv.insert(argv.end(), {"--progress-file", folder.progress_file(name)});
    out.push_back({.name = name, .argv = std::move(argv)});
  };
  for (std::size_t i = 0; i < split.producers; ++i)
    add("producer", i, {"--index", std::to_string(i)});
  for (std::uint32_t i = 0; i < split.packers; ++i) add("packer", i, {});
  for (std::uint32_t r = 0; r < job.deliver.dp_size; ++r)
    add("sink", r, {"--dp-rank", std::to_string(r)});
}

}  // namespace

std::string sibling_executable(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / name).string();
}

std::vector<ChildSpec> role_specs(const Job& job, const RunCommand& command, const LineFile& line,
                                  const RunFolder& folder) {
  std::vector<ChildSpec> out;
  SplitLine own = line_of(job.split, line.producers, line.sinks);
  own.packers = command.packers;
  add_roles(out, own, job, command, folder);
  if (!line.evaluates_beside()) return out;
  SplitLine eval = line_of(Split::kEval, line.eval_producers, line.eval_sinks);
  eval.prefix = kEvalPrefix;
  eval.sets.insert(eval.sets.begin(), "split=eval");
  add_roles(out, eval, job, command, folder);
  return out;
}

}  // namespace packline

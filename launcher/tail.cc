#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "launcher/client_loop.h"
#include "launcher/commands.h"
#include "launcher/role_specs.h"
#include "launcher/run_folder.h"
#include "lib/delivery/digest.h"
#include "lib/sample/samples.h"
#include "lib/telemetry/json_dump.h"
#include "lib/wire/codec.h"

namespace packline {
namespace {

using Json = nlohmann::ordered_json;

// The base addresses of the sinks of the line in PACKLINE_LINE, whose command this is; none without
// it. Only with `join` those of a line that somebody else trains on: its rank would be fenced.
Result<std::vector<std::string>> sinks_to_join(const Job& job, bool join) {
  std::string file;
  if (const char* ours = getenv("PACKLINE_LINE")) {
    file = ours;
  } else if (!join) {
    return std::vector<std::string>();
  } else if (!job.line.sinks.empty()) {
    return job.line.sinks;
  } else if (file = find_line(job); file.empty()) {
    return fail(ExitCode::kUnreachable,
                fmt::format("--join: no line runs this job on this host ({}/run.json names none), "
                            "and the job file has no line.sinks",
                            job.state));
  }
  Result<LineFile> line = read_line_file(file);
  if (!line) return tl::unexpected(line.error());
  if (job.split == Split::kTrain) return std::move(line->sinks);
  if (!line->eval_sinks.empty()) return std::move(line->eval_sinks);
  return fail(ExitCode::kUnreachable,
              fmt::format("split: eval: the line that {} names serves no eval split", file));
}

// The base address of the rank's sink; an empty text: there is no line to join.
Result<std::string> sink_address(const Job& job, std::uint32_t dp_rank, bool join) {
  const Result<std::vector<std::string>> told = sinks_to_join(job, join);
  if (!told) return tl::unexpected(told.error());
  const std::vector<std::string>& sinks = *told;
  if (sinks.empty()) return std::string();
  if (dp_rank >= sinks.size()) {
    return fail(ExitCode::kWrongJob, fmt::format("--dp-rank {}: the line has {} sinks, 0 to {}",
                                                 dp_rank, sinks.size(), sinks.size() - 1));
  }
  return sinks[dp_rank];
}

Json pack_json(std::uint64_t step, const Pack& p, const Samples& s) {
  const Column* ids = s.find("input_ids");
  std::vector<std::int32_t> input_ids(s.tokens());
  for (std::size_t i = 0; i < input_ids.size(); ++i) input_ids[i] = ids->data.at<std::int32_t>(i);
  return {{"step", step},           {"epoch", p.at.epoch},   {"window", p.at.window},
          {"dp_rank", p.dp_rank},   {"lengths", s.lengths},  {"sample_ids", s.ids},
          {"input_ids", input_ids}, {"labels", labels_of(s)}};
}

// `packline run JOB -- packline tail JOB ...`: a private line, for this tail alone.
int tail_on_private_line(const TailCommand& c) {
  RunCommand run;
  run.job = c.job;
  run.on_private_line = true;
  run.command = {sibling_executable("packline"),
                 "tail",
                 c.job.file,
                 "--dp-rank",
                 std::to_string(c.dp_rank),
                 "--steps",
                 std::to_string(c.steps),
                 "--format",
                 c.jsonl ? "jsonl" : "summary",
                 "--log-format",
                 std::string(name_of(c.job.log_format)),
                 "--private"};
  for (const std::string& s : c.job.sets) run.command.insert(run.command.end(), {"--set", s});
  return run_command(run);
}

// How the process should end. Who sent a signal knows it.
int report_exit(const Exit& e) {
  const bool told = e.code == ExitCode::kDone || e.code == ExitCode::kTerminated ||
                    e.code == ExitCode::kInterrupted;
  if (!told) fmt::print(stderr, "packline: {}\n", e.text);
  return static_cast<int>(e.code);
}

}  // namespace

int tail_command(const TailCommand& c) {
  Job job;
  if (!load_or_complain(c.job, job)) return static_cast<int>(ExitCode::kWrongJob);
  const Result<std::string> sink = sink_address(job, c.dp_rank, c.join);
  if (!sink) return complain(sink.error());
  if (sink->empty()) {
    if (c.dp_rank < job.deliver.dp_size) return tail_on_private_line(c);
    return complain({ExitCode::kWrongJob, fmt::format("--dp-rank {}: deliver.dp_size is {}",
                                                      c.dp_rank, job.deliver.dp_size)});
  }
  Signals signals;
  log::configure(c.job.log_format, {job.name, "packline"});
  auto client = ClientLoop::open(job, {c.dp_rank, 0, *sink, !c.on_private_line});
  if (!client) return complain(client.error());
  std::uint64_t step = 0;
  std::string trouble;
  const Exit exit = (*client)->run(signals, [&](const Pack& p) {
    const Result<Samples> s = decode_samples(p.body.frames);
    if (!s) {
      trouble = s.error().text;
      return false;
    }
    if (c.jsonl) {
      fmt::print("{}\n", dump_json(pack_json(step, p, *s)));
    } else {
      fmt::print(
          "step {}  epoch {}  window {}  samples {}  tokens {}  fill {:.2f} %  lengths [{}]\n",
          step, p.at.epoch, p.at.window, s->size(), s->tokens(),
          100.0 * static_cast<double>(s->tokens()) / job.pack.capacity,
          fmt::join(s->lengths, ", "));
    }
    ++step;
    return (c.steps == 0 || step < c.steps) && fflush(stdout) == 0;
  });
  if (!trouble.empty()) return complain({ExitCode::kBug, "a pack cannot be read: " + trouble});
  return report_exit(exit);
}

int consume_command(const ConsumeCommand& c) {
  Job job;
  if (!load_or_complain(c.job, job)) return static_cast<int>(ExitCode::kWrongJob);
  const Result<std::string> sink = sink_address(job, c.dp_rank, false);
  if (!sink) return complain(sink.error());
  if (sink->empty())
    return complain({ExitCode::kWrongJob, "no line to join: PACKLINE_LINE is not set"});
  Signals signals;
  log::configure(c.job.log_format, {job.name, "packline"});
  auto client = ClientLoop::open(job, {c.dp_rank, c.peer, *sink, true});
  if (!client) return complain(client.error());
  std::string trouble;
  // What arrived is what the packer hashed: the digest is computed again from what was received.
  const Exit exit = (*client)->run(signals, [&](const Pack& p) {
    const Result<Samples> s = decode_samples(p.body.frames);
    if (!s)
      trouble = s.error().text;
    else if (pack_digest(p.at.epoch, p.at.window, p.at.pack, *s) != p.body.digest)
      trouble = "its digest is another one";
    return trouble.empty();
  });
  if (!trouble.empty()) return complain({ExitCode::kBug, "a pack arrived damaged: " + trouble});
  return report_exit(exit);
}

}  // namespace packline

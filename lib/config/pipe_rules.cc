#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "lib/config/rules.h"
#include "lib/corpus/file.h"
#include "lib/corpus/read_as.h"

namespace packline {
namespace {

// A mistake about a key whose value can be used, so that nothing is said twice.
void add_sound(Findings& findings, const std::string& key, bool wrong, std::string text) {
  if (wrong && findings.sound(key)) findings.add(key, std::move(text));
}

void check_alone(const Job& job, std::size_t i, Findings& findings) {
  const SourceSettings& source = job.sources[i];
  if (source.files.size() == 1 && job.sources.size() == 1) return;
  findings.add(fmt::format("sources.{}.path", i),
               fmt::format("{} is a pipe, and a pipe is a job's only source, for nobody knows how "
                           "many records of others would go with its own; write all records into "
                           "it, or name files alone",
                           *std::ranges::find_if(source.files, is_pipe)));
}

void check_reading(const Job& job, std::size_t i, Findings& findings) {
  const SourceSettings& source = job.sources[i];
  const ReadAs read_as = read_as_of(source.read_as, source.files.front());
  add_sound(findings, fmt::format("sources.{}.read_as", i),
            read_as == ReadAs::kFiles || read_as == ReadAs::kMegatron,
            fmt::format("a pipe is read as jsonl, json or lines, not as {}", name_of(read_as)));
  add_sound(findings, fmt::format("sources.{}.repeat", i), source.repeat != 1,
            "a pipe gives each record once; leave repeat out");
}

}  // namespace

// What reads in another order than the pipe's, or twice, or by several processes, cannot be.
void check_pipe(Job& job, std::size_t i, Findings& findings) {
  SourceSettings& source = job.sources[i];
  if (std::ranges::none_of(source.files, is_pipe)) return;
  source.pipe = true;
  check_alone(job, i, findings);
  if (std::any_of(job.sources.begin(), job.sources.begin() + static_cast<std::ptrdiff_t>(i),
                  [](const SourceSettings& s) { return s.pipe; })) {
    return;  // what follows was said of that one
  }
  check_reading(job, i, findings);
  add_sound(findings, "lanes", job.lanes != 1,
            fmt::format("{} lanes; a pipe is read once, from front to back, by one producer: set "
                        "lanes: 1",
                        job.lanes));
  add_sound(findings, "shuffle.kind", job.shuffle.kind == ShuffleKind::kFull,
            "full needs to know all records before the first, and a pipe tells them one by one; "
            "set shuffle.kind: none, or buffer with a shuffle.size");
  add_sound(findings, "epochs", job.epochs != 1, "a pipe can be read once; set epochs: 1");
  add_sound(findings, "pack.plan", job.pack.plan == PlanKind::kGlobal,
            "global needs all lengths before the first pack, and a pipe can be read once; set "
            "pack.plan: streaming");
  add_sound(findings, "eval.fraction", job.eval.fraction > 0,
            "records set aside are read apart, and a pipe can be read once; leave eval out");
}

}  // namespace packline

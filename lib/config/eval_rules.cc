#include <fmt/format.h>

#include "lib/config/rules.h"

namespace packline {

void check_eval(const Job& job, Findings& findings) {
  if (job.split == Split::kEval && job.eval.fraction == 0 && findings.sound("eval.fraction") &&
      findings.sound("split")) {
    findings.add("eval.fraction",
                 "is missing; split: eval needs records that are set aside, such as eval.fraction: "
                 "0.01");
  }
}

void become_eval(Job& job) {
  job.name += ".eval";
  job.epochs = kContinuous;
  job.shuffle = {ShuffleKind::kNone, 0};
  job.lanes = 1;
  for (SourceSettings& source : job.sources) {
    source.weight = 0;
    source.repeat = 1;
  }
  job.pack.plan = PlanKind::kStreaming;
  job.pack.balance = Balance::kNone;
  job.pack.remainder = Remainder::kSpread;
  job.pack.alike_epochs = true;
  // Between evaluations nobody asks for anything, which is no failure of this line.
  job.deliver.absent_trainer_fails = false;
  job.line.producers = job.line.eval_producers;
  job.line.sinks = job.line.eval_sinks;
}

}  // namespace packline

#include "tests/unit/config/job_folder.h"

namespace packline::test {
namespace {

TEST_CASE("Eval rules: split: eval is the same job, in order, all epochs alike, without end") {
  const JobFolder folder;
  const std::string text = small_job(
      "eval: {fraction: 0.25, seed: 4}\nlanes: 8\nepochs: 3\nshuffle: {kind: full}\n"
      "pack: {plan: global, balance: attention, capacity: 64}\n"
      "deliver: {remainder: drop, window_credit: 3}\n"
      "line: {producers: [\"ipc:///p\"], sinks: [\"ipc:///s\"], eval_producers: [\"ipc:///ep\"], "
      "eval_sinks: [\"ipc:///es\"]}\n");
  const Job train = folder.load(text).job;
  const LoadedJob loaded = folder.load(text, {"split=eval"});
  CHECK(loaded.mistakes.empty());
  const Job& eval = loaded.job;
  CHECK(eval.name == train.name + ".eval");
  CHECK(eval.epochs == kContinuous);
  CHECK(eval.lanes == 1);
  CHECK(eval.shuffle.kind == ShuffleKind::kNone);
  CHECK(eval.pack.plan == PlanKind::kStreaming);
  CHECK(eval.pack.balance == Balance::kNone);
  CHECK(eval.pack.remainder == Remainder::kSpread);
  CHECK(eval.pack.alike_epochs);
  CHECK(eval.pack.capacity == train.pack.capacity);
  CHECK(eval.deliver.window_credit == 3);
  CHECK_FALSE(eval.deliver.absent_trainer_fails);
  CHECK(eval.line.producers == std::vector<std::string>{"ipc:///ep"});
  CHECK(eval.line.sinks == std::vector<std::string>{"ipc:///es"});
  CHECK_FALSE(train.pack.alike_epochs);
  CHECK(train.deliver.absent_trainer_fails);
  for (std::uint64_t record = 0; record < 1000; ++record)
    CHECK(eval.selection().takes(0, record) != train.selection().takes(0, record));
}

TEST_CASE("Eval rules: a job that sets nothing aside has no eval split") {
  CHECK_ONE_HOLDS(JobFolder().mistakes(small_job(), {"split=eval"}),
                  "eval.fraction: is missing; split: eval needs records that are set aside");
}

}  // namespace
}  // namespace packline::test

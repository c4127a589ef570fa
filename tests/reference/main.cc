// packline-one-process [--room N] [--shuffle-seed S] [--eval-epochs E] [--frames] JOB...: the packs
// of each job as the production state machines deliver them in one process, as JSONL on stdout: a
// line a pack, as `packline tail --format jsonl` has them and with "pack" and "digest", with
// --frames also "frames", the samples as the wire has them, in hex; behind each job a line with its
// windows and ledgers. With E > 0 so many epochs of each job's eval split instead.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/windows/json_text.h"
#include "tests/reference/line.h"

namespace packline::reference {
namespace {

// The keys are those of LEDGER in packline_reference.py.
std::string ledger_json(const Ledger& l) {
  std::string text = fmt::format(
      R"({{"records_read":{},"records_encoded":{},"lost_parse":{},"lost_encode":{},)"
      R"("samples_made":{},"tokens_made":{},"truncated_tokens":{},"repeated":{},"repeated_tokens":{})",
      l.records_read, l.records_encoded, l.records_lost[0], l.records_lost[1], l.samples_made,
      l.tokens_made, l.tokens_truncated, l.samples_repeated, l.tokens_repeated);
  for (std::size_t i = 0; i < kSampleLosses; ++i) {
    const std::string_view reason = name_of(static_cast<SampleLoss>(i));
    text += fmt::format(R"(,"lost_{0}":{1},"tokens_{0}":{2})", reason, l.samples_lost[i],
                        l.tokens_lost[i]);
  }
  return text + "}";
}

std::string hex(const Buffer& frame) {
  std::string text = "\"";
  for (const std::byte b : frame.bytes()) text += fmt::format("{:02x}", std::to_integer<int>(b));
  return text + "\"";
}

std::string frames_json(const TakenPack& p) {
  std::vector<std::string> frames;
  for (const Buffer& frame : p.frames) frames.push_back(hex(frame));
  return fmt::format(R"("frames":[{}],)", fmt::join(frames, ","));
}

std::string pack_json(const TakenPack& p, bool frames) {
  std::vector<std::string> ids;
  for (const std::string& id : p.samples.ids) ids.push_back(json_text(id, SIZE_MAX));
  const Column* column = p.samples.find("input_ids");
  std::vector<std::int32_t> input_ids(p.samples.tokens());
  for (std::size_t i = 0; i < input_ids.size(); ++i)
    input_ids[i] = column->data.at<std::int32_t>(i);
  return fmt::format(
      R"({{{}"step":{},"epoch":{},"window":{},"pack":{},"dp_rank":{},"lengths":[{}],)"
      R"("sample_ids":[{}],"input_ids":[{}],"labels":[{}],"digest":"{:016x}"}})",
      frames ? frames_json(p) : "", p.step, p.at.epoch, p.at.window, p.at.pack, p.dp_rank,
      fmt::join(p.samples.lengths, ","), fmt::join(ids, ","), fmt::join(input_ids, ","),
      fmt::join(labels_of(p.samples), ","), p.digest);
}

std::string end_json(const Job& job, const LineResult& r) {
  std::vector<std::string> windows, epochs;
  for (const auto& [key, w] : r.windows)
    windows.push_back(
        fmt::format(R"({{"epoch":{},"window":{},"packs":{},"last":{},"after":{},"ledger":{}}})",
                    key.epoch, key.index * job.lanes + key.lane, w.packs.size(), w.last,
                    json_text(w.after, SIZE_MAX), ledger_json(w.ledger)));
  for (const EpochTally& e : r.epochs)
    epochs.push_back(
        fmt::format(R"({{"epoch":{},"ledger":{}}})", e.epoch, ledger_json(e.tally.ledger)));
  return fmt::format(
      R"({{"job":{},"producers":{},"packers":{},"messages":{},"windows":[{}],"epochs":[{}]}})",
      json_text(job.file, SIZE_MAX), r.producers, r.packers, r.messages, fmt::join(windows, ","),
      fmt::join(epochs, ","));
}

int run_job(const std::string& file, const LineOptions& options, std::uint64_t eval_epochs,
            bool frames) {
  std::vector<std::string> sets;
  if (eval_epochs > 0) sets.emplace_back("split=eval");
  LoadedJob loaded = load_job(file, sets);
  if (eval_epochs > 0) loaded.job.epochs = eval_epochs;
  for (const Mistake& m : loaded.mistakes) fmt::print(stderr, "{}\n", m.line_text());
  if (!loaded.mistakes.empty()) return static_cast<int>(ExitCode::kWrongJob);
  const auto line = Line::open(loaded.job, options);
  const Result<LineResult> result =
      line ? (*line)->run() : Result<LineResult>(tl::unexpected(line.error()));
  if (!result) {
    fmt::print(stderr, "packline-one-process: {}: {}\n", file, result.error().text);
    return static_cast<int>(result.error().code);
  }
  for (const TakenPack& p : result->packs) fmt::print("{}\n", pack_json(p, frames));
  fmt::print("{}\n", end_json(loaded.job, *result));
  return 0;
}

bool read_number(std::string_view text, std::uint64_t& n) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size();
}

int run(const std::vector<std::string>& args) {
  LineOptions options;
  std::vector<std::string> jobs;
  bool frames = false;
  std::map<std::string, std::uint64_t> numbers = {
      {"--room", options.room}, {"--shuffle-seed", options.seed}, {"--eval-epochs", 0}};
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto number = numbers.find(args[i]);
    if (args[i] == "--frames") {
      frames = true;
    } else if (number == numbers.end()) {
      jobs.push_back(args[i]);
    } else if (i + 1 == args.size() || !read_number(args[++i], number->second)) {
      fmt::print(stderr, "packline-one-process: {} needs a number\n", args[i]);
      return static_cast<int>(ExitCode::kWrongJob);
    }
  }
  options.room = static_cast<std::uint32_t>(numbers["--room"]);
  options.seed = numbers["--shuffle-seed"];
  for (const std::string& job : jobs) {
    if (const int code = run_job(job, options, numbers["--eval-epochs"], frames); code != 0)
      return code;
  }
  return 0;
}

}  // namespace
}  // namespace packline::reference

int main(int argc, char** argv) { return packline::reference::run({argv + 1, argv + argc}); }

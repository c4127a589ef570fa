#include "launcher/line_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "launcher/role_names.h"
#include "launcher/role_specs.h"

namespace packline {
namespace {

using namespace std::chrono_literals;

// A role that dies this often, and not one pack reaches a trainer in between, will not get better.
constexpr int kDeathsWithoutProgress = 5;
constexpr auto kPatience = 8s;  // between SIGTERM and SIGKILL
// For the roles to end by themselves after the command's ranks said done.
constexpr auto kFarewell = 6s;

constexpr const char* kCommand = "command";

}  // namespace

LineRun::LineRun(const Job& job, const RunCommand& command, const LineFile& line,
                 const RunFolder& folder)
    : job_(job), command_(command), line_(line), folder_(folder) {}

ChildSpec LineRun::trainer_spec(std::uint32_t dp_rank, std::uint32_t peer) const {
  const std::uint32_t rank = dp_rank * job_.deliver.ranks_per_dp_rank + peer;
  std::vector<std::string> argv = {sibling_executable("packline"),
                                   "consume",
                                   command_.job.file,
                                   "--dp-rank",
                                   std::to_string(dp_rank),
                                   "--peer",
                                   std::to_string(peer),
                                   "--log-format",
                                   std::string(name_of(command_.job.log_format))};
  for (const std::string& s : command_.job.sets) argv.insert(argv.end(), {"--set", s});
  return {.name = fmt::format("trainer-{}", rank),
          .argv = std::move(argv),
          .env = {{"PACKLINE_LINE", folder_.line_file()}}};
}

Status LineRun::start() {
  started_ = ended_ = Clock::now();
  std::vector<ChildSpec> specs = role_specs(job_, command_, line_, folder_);
  if (command_.command.empty()) {
    for (std::uint32_t r = 0; r < job_.deliver.dp_size; ++r) {
      for (std::uint32_t p = 0; p < job_.deliver.ranks_per_dp_rank; ++p)
        specs.push_back(trainer_spec(r, p));
    }
  } else {
    // In the terminal's own group: it is the user's program, Ctrl-C reaches it as if it ran alone.
    // It may have a checkpoint to finish: if this process dies it is asked, not killed.
    specs.push_back({.name = kCommand,
                     .argv = command_.command,
                     .env = {{"PACKLINE_LINE", folder_.line_file()}},
                     .own_group = false,
                     .death_signal = SIGTERM});
  }
  for (ChildSpec& spec : specs) {
    if (Result<pid_t> pid = children_.start(spec); !pid) return tl::unexpected(pid.error());
    if (spec.name != kCommand) restarts_.try_emplace(role_of(spec.name), 0);
    specs_.emplace(spec.name, std::move(spec));
  }
  return {};
}

std::optional<int> LineRun::turn() {
  for (const ChildExit& e : children_.reap()) {
    if (!serves_eval(e.name)) ended_ = Clock::now();
    on_exit(e);
  }
  end_what_only_serves();
  escalate();
  if (children_.running_count() > 0) return std::nullopt;
  return outcome_.value_or(0);
}

void LineRun::on_exit(const ChildExit& e) {
  if (e.name == kCommand) return on_command_exit(e);
  if (outcome_) return;                      // the line is on its way to the end
  if (e.signal == 0 && e.code == 0) return;  // its work is done
  const bool hopeless = e.signal == 0 && (e.code == static_cast<int>(ExitCode::kWrongJob) ||
                                          e.code == static_cast<int>(ExitCode::kDataRefused) ||
                                          e.code == static_cast<int>(ExitCode::kUnreachable));
  if (hopeless)
    return fail_line(e.code, fmt::format("{} ended with {}", in_a_sentence(e.name), describe(e)));
  start_again(e);
}

void LineRun::on_command_exit(const ChildExit& e) {
  const bool by_itself = !outcome_;
  if (by_itself) outcome_ = e.signal != 0 ? 128 + e.signal : e.code;
  // Ranks that said done let every role end by itself; otherwise nobody is left to serve.
  stop_at_ = Clock::now() + (by_itself && all_done() ? kFarewell : 0s);
}

void LineRun::start_again(const ChildExit& e) {
  Deaths& deaths = deaths_[e.name];
  const std::uint64_t packs = packs_handed_out(e.name);
  // Fewer are handed out where the trainer has begun anew.
  deaths.count = packs != deaths.packs ? 1 : deaths.count + 1;
  deaths.packs = packs;
  if (deaths.count >= kDeathsWithoutProgress) {
    const int code = e.signal == 0 ? e.code : static_cast<int>(ExitCode::kUnreachable);
    return fail_line(
        code, fmt::format(
                  "{} died {} times and no pack reached a trainer in between, the last time by {}",
                  in_a_sentence(e.name), deaths.count, describe(e)));
  }
  ++restarts_[role_of(e.name)];
  log::warning("{} (pid {}) died by {}; it is started again", e.name, e.pid, describe(e));
  if (Result<pid_t> pid = children_.start(specs_.at(e.name)); !pid) {
    fail_line(static_cast<int>(pid.error().code), pid.error().text);
  }
}

void LineRun::fail_line(int code, const std::string& why) {
  if (outcome_) return;
  reason_ = why;
  stop(code, SIGTERM);
}

void LineRun::stop(int code, int signal_for_command) {
  if (!outcome_) outcome_ = code;
  children_.signal(kCommand, signal_for_command);
  // The roles serve the command until it has ended, or has had its time to.
  if (!stop_at_) stop_at_ = Clock::now() + (children_.running(kCommand) ? kPatience : 0s);
}

void LineRun::stop_now() { stop_at_ = kill_at_ = Clock::now(); }

void LineRun::escalate() {
  const auto now = Clock::now();
  if (!stop_at_ || now < *stop_at_) return;
  if (!kill_at_) {
    children_.signal_all(SIGTERM);
    kill_at_ = now + kPatience;
  } else if (now >= *kill_at_) {
    children_.signal_all(SIGKILL);
  }
}

// Nobody evaluates who does not train, and nobody has records encoded: when the command (or the
// null trainers) and the line's own roles are gone, what is left is told to go. An encoder that
// stands still cannot go by itself.
void LineRun::end_what_only_serves() {
  if (children_.running_count() == 0) return;
  for (const auto& [name, spec] : specs_) {
    if (!serves_eval(name) && role_of(name) != kEncodeRole && children_.running(name)) return;
  }
  if (!outcome_) outcome_ = 0;
  if (!stop_at_ || *stop_at_ > Clock::now()) stop_at_ = Clock::now();
}

std::vector<RankProgress> LineRun::progress_of(std::string_view prefix) const {
  std::vector<RankProgress> out;
  for (std::uint32_t r = 0; r < job_.deliver.dp_size; ++r) {
    std::ifstream in(folder_.progress_file(fmt::format("{}sink-{}", prefix, r)), std::ios::binary);
    if (!in) continue;  // no trainer has spoken to this sink yet
    std::ostringstream text;
    text << in.rdbuf();
    if (Result<RankProgress> p = progress_from_json(text.str())) out.push_back(std::move(*p));
  }
  return out;
}

// Of the split that the role belongs to.
std::uint64_t LineRun::packs_handed_out(const std::string& name) const {
  std::uint64_t sum = 0;
  for (const RankProgress& p : progress_of(serves_eval(name) ? kEvalPrefix : ""))
    sum += p.progress.total.packs;
  return sum;
}

bool LineRun::all_done() const {
  const std::vector<RankProgress> ranks = progress();
  return ranks.size() == job_.deliver.dp_size &&
         std::all_of(ranks.begin(), ranks.end(), [](const RankProgress& p) { return p.done; });
}

double LineRun::seconds() const { return std::chrono::duration<double>(ended_ - started_).count(); }

}  // namespace packline

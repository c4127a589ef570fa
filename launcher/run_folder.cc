#include "launcher/run_folder.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/base/whole_file.h"
#include "lib/telemetry/json_dump.h"
#include "lib/telemetry/json_integer.h"

namespace packline {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// An ipc path is at most 107 bytes; the longest name of a role with its suffix needs this many.
constexpr std::size_t kLongestName = 24;

std::string runtime_folder() {
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = getenv(name);
    if (value != nullptr && access(value, W_OK | X_OK) == 0 &&
        strlen(value) + sizeof("/packline-XXXXXX/") + kLongestName < 107) {
      return value;
    }
  }
  return "/tmp";
}

bool alive(std::int64_t pid) {
  return pid > 0 && (kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

// What <state>/run.json says.
struct Pointer {
  std::string line;  // path of a line.json
  std::int64_t pid = 0;
};

// Nothing when there is none, or it was damaged: the state folder may have been anywhere.
std::optional<Pointer> read_pointer(const std::string& path) {
  const Result<std::string> text = read_whole(path);
  if (!text) return std::nullopt;
  try {
    const Json j = Json::parse(*text);
    return Pointer{j.at("line").get<std::string>(), json_integer<std::int64_t>(j.at("pid"))};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// A folder that RunFolder::make() made for this user. Anything may stand in a pointer.
bool is_run_folder(const fs::path& folder) {
  struct stat info{};
  return folder.is_absolute() && folder.filename().string().starts_with("packline-") &&
         ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == ::geteuid() && (info.st_mode & 07777) == 0700 &&
         ::access((folder / "line.json").c_str(), F_OK) == 0;
}

// What a killed launcher left: its folder, and the pointer to it.
void remove_leftover(const std::string& pointer) {
  const std::optional<Pointer> left = read_pointer(pointer);
  if (!left || alive(left->pid)) return;
  const fs::path folder = fs::path(left->line).parent_path();
  std::error_code ignored;
  if (is_run_folder(folder)) fs::remove_all(folder, ignored);
  fs::remove(pointer, ignored);
}

}  // namespace

std::string to_json(const LineFile& line) {
  Json j = {{"version", 1},
            {"job", line.job},
            {"set", line.sets},
            {"pid", line.pid},
            {"producers", line.producers},
            {"sinks", line.sinks},
            {"eval_producers", line.eval_producers},
            {"eval_sinks", line.eval_sinks},
            {"folder", line.folder},
            {"dp_size", line.dp_size},
            {"ranks_per_dp_rank", line.ranks_per_dp_rank},
            {"warn_after_s", line.warn_after_s},
            {"fail_after_s", line.fail_after_s}};
  return dump_json(j, 2) + "\n";
}

Result<LineFile> read_line_file(const std::string& path) {
  const Result<std::string> text = read_whole(path);
  if (!text) return tl::unexpected(text.error());
  try {
    const Json j = Json::parse(*text);
    LineFile line;
    line.job = j.at("job");
    line.sets = j.at("set").get<std::vector<std::string>>();
    line.pid = json_integer<std::int64_t>(j.at("pid"));
    line.producers = j.at("producers").get<std::vector<std::string>>();
    line.sinks = j.at("sinks").get<std::vector<std::string>>();
    line.eval_producers = j.at("eval_producers").get<std::vector<std::string>>();
    line.eval_sinks = j.at("eval_sinks").get<std::vector<std::string>>();
    line.folder = j.at("folder");
    line.dp_size = json_integer<std::uint32_t>(j.at("dp_size"));
    line.ranks_per_dp_rank = json_integer<std::uint32_t>(j.at("ranks_per_dp_rank"));
    line.warn_after_s = j.at("warn_after_s");
    line.fail_after_s = j.at("fail_after_s");
    return line;
  } catch (const std::exception& e) {
    return fail(ExitCode::kUnreachable,
                fmt::format("{} is no line.json of this version: {}", path, e.what()));
  }
}

Result<RunFolder> RunFolder::make(const Job& job) {
  std::error_code error;
  fs::create_directories(job.state, error);
  if (error) {
    return fail(ExitCode::kWrongJob, fmt::format("{}: state: the folder {} cannot be made: {}",
                                                 job.file, job.state, error.message()));
  }
  const std::string pointer = job.state + "/run.json";
  remove_leftover(pointer);
  std::string path = runtime_folder() + "/packline-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return fail(ExitCode::kUnreachable, fmt::format("no run folder {}: {}", path, strerror(errno)));
  }
  return RunFolder(std::move(path), pointer);
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")), pointer_(std::move(other.pointer_)) {}

RunFolder::~RunFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  // It may be another line's: two may run one job.
  if (const auto p = read_pointer(pointer_); p && p->line == line_file())
    fs::remove(pointer_, ignored);
  fs::remove_all(path_, ignored);
}

std::string RunFolder::address(const std::string& name) const {
  return "ipc://" + path_ + "/" + name;
}
std::string RunFolder::port_file(const std::string& name) const {
  return path_ + "/" + name + ".http";
}
std::string RunFolder::progress_file(const std::string& name) const {
  return path_ + "/" + name + ".progress";
}
std::string RunFolder::line_file() const { return path_ + "/line.json"; }

Status RunFolder::write_line(const LineFile& line) const {
  return write_whole(line_file(), to_json(line));
}

Result<std::int64_t> RunFolder::publish(std::int64_t pid) const {
  const std::string text = dump_json({{"line", line_file()}, {"pid", pid}}) + "\n";
  while (true) {
    const Result<bool> written = write_new(pointer_, text);
    if (!written) return tl::unexpected(written.error());
    if (*written) return 0;
    const std::optional<Pointer> other = read_pointer(pointer_);
    if (other && alive(other->pid)) return other->pid;
    // Damaged, or its launcher died just now.
    std::error_code error;
    if (fs::remove(pointer_, error); error) {
      return fail(ExitCode::kWrongJob, fmt::format("{} cannot be removed: {}; make it a file, or "
                                                   "give the job another state folder",
                                                   pointer_, error.message()));
    }
  }
}

std::string find_line(const Job& job) {
  if (const char* named = getenv("PACKLINE_LINE")) return named;
  const std::optional<Pointer> p = read_pointer(job.state + "/run.json");
  return p && alive(p->pid) ? p->line : "";
}

}  // namespace packline

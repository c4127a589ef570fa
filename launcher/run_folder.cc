#include "launcher/run_folder.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

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

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return fail(ExitCode::kUnreachable,
                fmt::format("{} cannot be read: {}", path, strerror(errno)));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Readers see the old file or the new one, never a part.
Status write_whole(const std::string& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}", path, getpid());
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out || rename(temporary.c_str(), path.c_str()) != 0) {
    return fail(ExitCode::kUnreachable,
                fmt::format("{} cannot be written: {}", path, strerror(errno)));
  }
  return {};
}

bool alive(std::int64_t pid) {
  return pid > 0 && (kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

// What a killed launcher left: its folder under the temporary folder, named by the pointer.
void remove_leftover(const std::string& pointer) {
  const Result<std::string> text = read_file(pointer);
  if (!text) return;
  const Json j = Json::parse(*text, nullptr, false);
  if (!j.is_object() || alive(j.value("pid", std::int64_t{0}))) return;
  const fs::path folder = fs::path(j.value("line", "")).parent_path();
  std::error_code ignored;
  if (folder.filename().string().starts_with("packline-")) fs::remove_all(folder, ignored);
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
            {"folder", line.folder},
            {"dp_size", line.dp_size},
            {"ranks_per_dp_rank", line.ranks_per_dp_rank},
            {"warn_after_s", line.warn_after_s},
            {"fail_after_s", line.fail_after_s}};
  return j.dump(2) + "\n";
}

Result<LineFile> read_line_file(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  try {
    const Json j = Json::parse(*text);
    LineFile line;
    line.job = j.at("job");
    line.sets = j.at("set").get<std::vector<std::string>>();
    line.pid = j.at("pid");
    line.producers = j.at("producers").get<std::vector<std::string>>();
    line.sinks = j.at("sinks").get<std::vector<std::string>>();
    line.folder = j.at("folder");
    line.dp_size = j.at("dp_size");
    line.ranks_per_dp_rank = j.at("ranks_per_dp_rank");
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
  // Another launcher of the same job may have put its own pointer there since.
  if (const auto text = read_file(pointer_); text && text->find(path_) != std::string::npos) {
    fs::remove(pointer_, ignored);
  }
  fs::remove_all(path_, ignored);
}

std::string RunFolder::address(const std::string& name) const {
  return "ipc://" + path_ + "/" + name;
}
std::string RunFolder::port_file(const std::string& name) const {
  return path_ + "/" + name + ".http";
}
std::string RunFolder::progress_file(std::uint32_t dp_rank) const {
  return fmt::format("{}/sink-{}.progress", path_, dp_rank);
}
std::string RunFolder::line_file() const { return path_ + "/line.json"; }

Status RunFolder::publish(const LineFile& line) {
  if (Status ok = write_whole(line_file(), to_json(line)); !ok) return ok;
  const Json pointer = {{"line", line_file()}, {"pid", line.pid}};
  return write_whole(pointer_, pointer.dump() + "\n");
}

std::string find_line(const Job& job) {
  if (const char* named = getenv("PACKLINE_LINE")) return named;
  const Result<std::string> text = read_file(job.state + "/run.json");
  if (!text) return "";
  const Json j = Json::parse(*text, nullptr, false);
  if (!j.is_object() || !alive(j.value("pid", std::int64_t{0}))) return "";
  return j.value("line", "");
}

}  // namespace packline

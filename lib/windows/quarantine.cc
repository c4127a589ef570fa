#include "lib/windows/quarantine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "lib/corpus/position.h"
#include "lib/windows/json_text.h"

namespace packline {
namespace {

constexpr std::size_t kTextMax = 4096;        // bytes of one text
constexpr std::size_t kLineMax = 256 * 1024;  // more than any line of ours, escapes and all

Fd open_file(const std::string& path, int flags) {
  return Fd(::open(path.c_str(), flags | O_CLOEXEC, 0644));
}

tl::unexpected<Error> cannot(const char* what, const std::string& path, int error) {
  return fail(ExitCode::kWrongJob,
              fmt::format("{}: cannot {} the quarantine file: {}; the loss is counted, but not "
                          "described there (free some space, or give the job another state folder)",
                          path, what, std::strerror(error)));
}

Status write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// The lane_record of a whole line; none for what this program did not write. Within a JSON string
// every quote is escaped, so the key cannot be found there.
std::optional<std::uint64_t> lane_record_of(std::string_view line) {
  constexpr std::string_view kKey = ",\"lane_record\":";
  const std::size_t at = line.rfind(kKey);
  if (at == std::string_view::npos || line.empty() || line.back() != '}') return std::nullopt;
  const char* begin = line.data() + at + kKey.size();
  const char* end = line.data() + line.size() - 1;
  std::uint64_t value = 0;
  const auto [stopped, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

// How many bytes of the file stay: the whole lines of records below `from`.
Result<std::uint64_t> kept_bytes(int fd, const std::string& path, std::uint64_t from) {
  std::string pending;  // what follows the last whole line
  std::uint64_t kept = 0;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("read", path, errno);
    if (n == 0) return kept;
    pending.append(buffer, static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end; (end = pending.find('\n', begin)) != std::string::npos;) {
      const auto record = lane_record_of(std::string_view(pending).substr(begin, end - begin));
      if (!record || *record >= from) return kept;
      kept += end + 1 - begin;
      begin = end + 1;
    }
    pending.erase(0, begin);
    if (pending.size() > kLineMax) return kept;
  }
}

// Cuts off a torn last line and the lines of records from `from` on. Without a file: nothing to do.
Status cut(const std::string& path, std::uint64_t from) {
  const Fd file = open_file(path, O_RDWR);
  if (!file.open()) {
    if (errno == ENOENT) return {};
    return cannot("open", path, errno);
  }
  const Result<std::uint64_t> kept = kept_bytes(file.get(), path, from);
  if (!kept) return tl::unexpected<Error>(kept.error());
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return cannot("read", path, errno);
  if (static_cast<std::uint64_t>(info.st_size) == *kept) return {};
  if (::ftruncate(file.get(), static_cast<off_t>(*kept)) != 0) return cannot("cut", path, errno);
  return {};
}

}  // namespace

std::string quarantine_line(const Loss& loss, std::uint32_t lanes) {
  return fmt::format(
      "{{\"reason\":{},\"source\":{},\"id\":{},\"tokens\":{},\"cause\":{},\"epoch\":{},"
      "\"window\":{},\"lane_record\":{}}}",
      json_text(loss.reason, kTextMax), json_text(loss.where, kTextMax),
      json_text(loss.id, kTextMax), loss.tokens, json_text(loss.cause, kTextMax), loss.window.epoch,
      loss.window.index * lanes + loss.window.lane, loss.lane_record);
}

Quarantine::Quarantine(const Job& job)
    : folder_(fmt::format("{}/{}-{:016x}/quarantine", job.state, job.name, job.fingerprint)),
      lanes_(job.lanes),
      locks_(job.lanes) {}

std::string Quarantine::path_of(const WindowKey& key) const {
  return fmt::format("{}/epoch-{}.lane-{}.jsonl", folder_, key.epoch, key.lane);
}

Status Quarantine::write(const ClosedWindow& window, const std::vector<Loss>& losses) {
  Status ok = append(window, losses);
  if (ok) {
    if (!losses.empty()) failing_ = false;
    return {};
  }
  lanes_[window.key.lane].known = false;  // something may be half written: look again next time
  unwritten_ += losses.size();
  if (std::exchange(failing_, true)) return {};
  return ok;
}

// Two lines of one job in one state folder would cut each other's lines.
Status Quarantine::own(std::uint32_t lane) {
  if (locks_[lane].open()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const std::string path = fmt::format("{}/lane-{}.lock", folder_, lane);
  if (error) return cannot("make the folder of", path, error.value());
  Fd lock = open_file(path, O_RDWR | O_CREAT);
  if (!lock.open()) return cannot("open", path, errno);
  int rc = 0;
  do rc = ::flock(lock.get(), LOCK_EX | LOCK_NB);
  while (rc != 0 && errno == EINTR);
  if (rc != 0 && errno == EWOULDBLOCK) {
    return fail(ExitCode::kWrongJob,
                fmt::format("{}: another process that makes this lane of this job holds the "
                            "quarantine file; the loss is counted, but not described there (give "
                            "one of the two lines another state folder)",
                            path));
  }
  if (rc != 0) return cannot("lock", path, errno);
  locks_[lane] = std::move(lock);
  return {};
}

Status Quarantine::append(const ClosedWindow& window, const std::vector<Loss>& losses) {
  const WindowKey& key = window.key;
  const std::string path = path_of(key);
  Known& lane = lanes_[key.lane];
  const bool goes_on = lane.known && lane.epoch == key.epoch && lane.index == key.index;
  const bool cuts = !goes_on && ::access(path.c_str(), F_OK) == 0;
  if (cuts || !losses.empty()) {
    if (Status ok = own(key.lane); !ok) return ok;
  }
  if (cuts) {
    const Result<Position> before = Position::parse(window.before);
    if (!before) return tl::unexpected<Error>(before.error());
    // A record that an earlier window began was counted there.
    const std::uint64_t from = before->record + (before->sample > 0 ? 1 : 0);
    if (Status ok = cut(path, from); !ok) return ok;
  }
  lane = {true, key.epoch, key.index + 1};
  if (losses.empty()) return {};

  std::string lines;
  for (const Loss& loss : losses) {
    lines += quarantine_line(loss, static_cast<std::uint32_t>(lanes_.size()));
    lines += '\n';
  }
  const Fd file = open_file(path, O_WRONLY | O_APPEND | O_CREAT);
  if (!file.open()) return cannot("open", path, errno);
  return write_all(file.get(), lines, path);
}

}  // namespace packline

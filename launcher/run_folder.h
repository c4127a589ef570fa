#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/job.h"

namespace packline {

// What others need to find a running line (ARCHITECTURE.md, "A line on one host").
struct LineFile {
  std::string job;                            // absolute path
  std::vector<std::string> sets;              // --set arguments
  std::int64_t pid = 0;                       // of the launcher
  std::vector<std::string> producers, sinks;  // base addresses
  // Where the eval split is served: beside the training, or, of a line that is started with
  // split=eval, by the same roles. Empty: nowhere.
  std::vector<std::string> eval_producers, eval_sinks;
  std::string folder;  // the run folder; <folder>/<role>.http holds each role's HTTP port
  std::uint32_t dp_size = 1, ranks_per_dp_rank = 1;
  double warn_after_s = 0, fail_after_s = 0;

  // Whether roles of the eval split's own stand beside the others.
  bool evaluates_beside() const { return !eval_sinks.empty() && eval_sinks != sinks; }
};

std::string to_json(const LineFile& line);
Result<LineFile> read_line_file(const std::string& path);

// The private folder of one running line: sockets, port files, progress files, line.json. Made in
// $XDG_RUNTIME_DIR, $TMPDIR or /tmp with mode 0700, removed by the destructor. Of a line that was
// published <state>/run.json names the line.json while it lives; what a launcher that was killed
// left there is removed by the next one.
class RunFolder {
 public:
  static Result<RunFolder> make(const Job& job);
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  RunFolder(const RunFolder&) = delete;
  ~RunFolder();

  const std::string& path() const { return path_; }
  std::string address(const std::string& name) const;    // "ipc://<folder>/<name>"
  std::string port_file(const std::string& name) const;  // where a role writes its HTTP port
  // Where the sink of that name writes its trainer's progress.
  std::string progress_file(const std::string& name) const;
  std::string line_file() const;  // PACKLINE_LINE

  Status write_line(const LineFile& line) const;
  // Has <state>/run.json name this line, for `packline status`. 0, or, when it names another line
  // of this job whose launcher lives, that launcher's pid; then it stays as it is.
  Result<std::int64_t> publish(std::int64_t pid) const;

 private:
  RunFolder(std::string path, std::string pointer)
      : path_(std::move(path)), pointer_(std::move(pointer)) {}
  std::string path_;
  std::string pointer_;  // <state>/run.json
};

// The line.json of the line that runs this job now: what PACKLINE_LINE names if it is set, else
// what <state>/run.json names if that launcher lives. An empty text: none runs.
std::string find_line(const Job& job);

}  // namespace packline

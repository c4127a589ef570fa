#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "launcher/children.h"
#include "launcher/commands.h"
#include "launcher/run_folder.h"
#include "lib/config/job.h"
#include "lib/encoders/encoder_processes.h"
#include "lib/windows/window_maker.h"

namespace packline {

// The encoders of a command that makes windows by itself, such as `packline count`: those of this
// process, or, where the job's encoder runs in processes of its own, encode.processes of them,
// started here and started again when they die. Outlives what it opened.
class OwnEncoders {
 public:
  explicit OwnEncoders(const JobOption& option) : log_format_(option.log_format) {}

  OpenEncoders opener() {
    return [this](const Job& job) { return open(job); };
  }

 private:
  Result<std::unique_ptr<Encoders>> open(const Job& job);
  Status look_after();  // in the encoders' thread

  const log::Format log_format_;
  std::optional<RunFolder> folder_;
  Context context_;
  std::map<std::string, ChildSpec> specs_;
  std::map<std::string, int> deaths_;
  bool started_ = false;
  Children children_;
};

}  // namespace packline

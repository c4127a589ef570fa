#pragma once

#include <vector>

#include "launcher/children.h"
#include "launcher/commands.h"
#include "launcher/run_folder.h"
#include "lib/config/job.h"

namespace packline {

// How to start every role of a line: those of the job itself, then, where the line file names eval
// sinks beside them, those that serve its eval split (`--set split=eval`): one producer, one packer
// and a sink for each dp_rank.
std::vector<ChildSpec> role_specs(const Job& job, const RunCommand& command, const LineFile& line,
                                  const RunFolder& folder);

// "packline-producer" beside the running executable.
std::string sibling_executable(const std::string& name);

}  // namespace packline

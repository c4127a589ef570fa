#pragma once

#include <functional>
#include <string>

#include "lib/app/command_line.h"
#include "lib/app/process.h"
#include "lib/config/job.h"
#include "lib/delivery/role.h"

namespace packline {

// What a role does once its job file is whole: opens its service and runs it to the end.
using RunRole = std::function<Result<Exit>(Job job, const RoleOptions& options, Signals& signals)>;

// The main of a role: command line, job file, signals, log; --check; the exit code.
int role_main(const RoleCommand& command, int argc, const char* const* argv, const RunRole& run);

// Whether the job's `line` has an address for this index.
Status check_index(std::uint32_t index, std::size_t addresses, const std::string& flag,
                   const std::string& key);

}  // namespace packline

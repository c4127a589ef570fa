#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/job.h"
#include "lib/telemetry/status.h"

namespace packline {

// What a role said of itself at /status.
struct RoleDocument {
  std::string name;         // "sink-3"
  StatusDocument document;  // of its role alone where there is trouble
  std::string trouble;      // why there is no document: not reachable, ...
};

// The order of the life of a sample, and "sink-10" behind "sink-9"; the eval split's roles last.
bool in_order(const std::string& a, const std::string& b);

// "sink-3" -> "127.0.0.1:4001".
using StatusAddresses = std::map<std::string, std::string>;

// Of a line that `packline run` made: the port files in its run folder.
StatusAddresses addresses_in(const std::string& run_folder);
// Of a line over tcp: port +4 of each producer and sink.
StatusAddresses addresses_of(const LineSettings& line);

// Asks each; the order is that of the life of a sample: producers, packers, sinks.
std::vector<RoleDocument> ask_all(const StatusAddresses& addresses, Duration timeout);

}  // namespace packline

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/config/job.h"

namespace packline {

// What a role said of itself at /status, as far as `status` and the progress display need it.
struct RoleDocument {
  std::string name;  // "sink-3"
  std::string role;
  std::int64_t pid = 0;
  std::string state;
  std::int64_t since_ms = 0;
  std::map<std::string, std::uint64_t> holds, counters;
  struct Waiting {
    std::string what, whom;
    std::int64_t since_ms = 0;
  };
  std::vector<Waiting> waits;
  std::string trouble;  // why there is no document: not reachable, ...; then all else is empty

  std::uint64_t held(const std::string& key) const;
  std::uint64_t counted(const std::string& key) const;
};

// "sink-3" -> "127.0.0.1:4001".
using StatusAddresses = std::map<std::string, std::string>;

// Of a line that `packline run` made: the port files in its run folder.
StatusAddresses addresses_in(const std::string& run_folder);
// Of a line over tcp: port +4 of each producer and sink.
StatusAddresses addresses_of(const LineSettings& line);

// Asks each; the order is that of the life of a sample: producers, packers, sinks.
std::vector<RoleDocument> ask_all(const StatusAddresses& addresses, Duration timeout);

}  // namespace packline

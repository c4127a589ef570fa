#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace packline {

// The answer to GET /status: who this is, what it holds, what it waits for (law L7).
//
//   {"role": "sink", "index": 3, "pid": 4711, "session": "00ab34cd56ef7890",
//    "state": "serving", "since_ms": 1200, "holds": {"slices": 4},
//    "waits": [{"for": "window 37", "whom": "producer-0", "since_ms": 900}],
//    "counters": {"packs": 17}}
//
// Ages (since_ms) are in milliseconds up to the moment of the document. `index` is null where a
// role has none.
struct StatusDocument {
  struct Wait {
    std::string what;  // "for"
    std::string whom;
    std::int64_t since_ms = 0;
  };

  std::string role;
  int index = -1;  // below 0: none
  std::uint64_t session = 0;
  std::string state;
  std::int64_t since_ms = 0;  // in this state
  std::vector<std::pair<std::string, std::uint64_t>> holds;
  std::vector<Wait> waits;
  std::vector<std::pair<std::string, std::uint64_t>> counters;

  // One line. The process id is added.
  std::string json() const;
};

}  // namespace packline

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/delivery/role.h"

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
  using Numbers = std::vector<std::pair<std::string, std::uint64_t>>;

  std::string role;
  int index = -1;        // below 0: none
  std::int64_t pid = 0;  // 0: of this process
  std::uint64_t session = 0;
  std::string state;
  std::int64_t since_ms = 0;  // in this state
  Numbers holds;
  std::vector<Wait> waits;
  Numbers counters;

  std::uint64_t held(std::string_view key) const;     // 0 when there is none
  std::uint64_t counted(std::string_view key) const;  // likewise

  std::string json() const;  // one line
  // An error says what of the text is no status document.
  static Result<StatusDocument> parse(std::string_view text);
};

}  // namespace packline

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/instant.h"
#include "lib/delivery/role.h"

namespace packline {

// Law L7: past a limit, whoever waits says so unasked. Decides which of a role's waits are due to
// be told: one that should not last is told again and again, an ordinary one (Wait::ordinary) once.
class WaitLog {
 public:
  // `after`: how long a wait may last unsaid, and the pause before it is said again.
  explicit WaitLog(Duration after) : after_(after) {}

  struct Sentence {
    std::string text;      // "waits for a notice from producer 1 since 30 s; waits for ..."
    bool ordinary = true;  // nothing in it is a sign of trouble
  };
  // Call often, with all that is waited for at `now`.
  std::optional<Sentence> due(const std::vector<Wait>& waits, Instant now);

 private:
  Duration after_;
  std::map<std::string, Instant> told_;  // by whom is waited for; only of waits that last
};

}  // namespace packline

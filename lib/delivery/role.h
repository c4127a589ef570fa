#pragma once

#include <cstdint>
#include <string>

#include "lib/base/instant.h"
#include "lib/base/result.h"

// What every role's state machine tells its service, besides messages.

namespace packline {

// The role is over: the process should end with this code. `text` is one sentence; with kDone it
// says how the end was learnt.
struct Exit {
  ExitCode code = ExitCode::kDone;
  std::string text;
  bool operator==(const Exit&) const = default;
};

// One thing that a role waits for (law L7), as the status document shows it:
// {"for": what, "whom": whom, "since_ms": since_ms}. "what" and "whom" read as a sentence:
// "waits for <what> from <whom> since ...".
struct Wait {
  std::string what;
  std::string whom;
  std::uint64_t since_ms = 0;  // for how long already
  bool ordinary = false;       // the trainer sets the pace: no sign of trouble, however long
  bool operator==(const Wait&) const = default;
};

// "12 s", "1.5 s" or "250 ms": a duration in a sentence.
std::string in_words(Duration d);
std::string in_words_ms(std::uint64_t ms);

}  // namespace packline

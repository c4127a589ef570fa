#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace packline {

// How a process ends; documented in README.md and stable for scripts.
enum class ExitCode : int {
  kDone = 0,
  kWrongJob = 2,       // the job file or the command line is wrong
  kDataRefused = 3,    // a record was refused and the job says so
  kUnreachable = 4,    // a peer or an address could not be had
  kBug = 5,            // a promise of the program itself is broken
  kInterrupted = 130,  // SIGINT
  kTerminated = 143,   // SIGTERM
};

// A failure of the world, not of the program: one sentence that says what is wrong, where, and
// what to do, and the exit code of a process that cannot go on because of it.
struct Error {
  ExitCode code = ExitCode::kBug;
  std::string text;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(ExitCode code, std::string text) {
  return tl::unexpected<Error>(Error{code, std::move(text)});
}

}  // namespace packline

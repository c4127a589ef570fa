#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/corpus/file.h"
#include "lib/corpus/say.h"

namespace packline {

// Locks `path`, a file of the state folder that is made where it is absent, against other
// processes, and against other calls in this one. Held until the descriptor closes, also by the
// death of its process. Waits for whoever holds it and says so: `what` is what that one is doing,
// as "the index of a.jsonl is made". Error: kWrongJob.
Result<Fd> lock_file(const std::string& path, const std::string& what, const Say& say,
                     Duration first = LongWork::kFirst, Duration every = LongWork::kEvery);

}  // namespace packline

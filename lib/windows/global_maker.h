#pragma once

#include <memory>

#include "lib/base/result.h"
#include "lib/config/job.h"
#include "lib/corpus/say.h"
#include "lib/encode/encoder.h"
#include "lib/windows/read_ahead.h"
#include "lib/windows/window_maker.h"

namespace packline {

// The maker of a job with pack.plan: global (docs/stream.md section 5.5). Makes or reuses the pass
// for the lengths. `job.identity` must be filled in.
Result<std::unique_ptr<WindowMaker>> make_global_maker(const Job& job, Sources sources,
                                                       std::unique_ptr<Encoders> encoders,
                                                       const Say& say);

}  // namespace packline

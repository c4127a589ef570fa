#pragma once

#include "lib/config/findings.h"
#include "lib/config/job.h"

namespace packline {

// What holds between settings, once each is in its own range. Fills in what has another setting for
// its default (pack.dp_size_multiple, pack.seed). Looks at no file.
void check_rules(Job& job, Findings& findings);

}  // namespace packline

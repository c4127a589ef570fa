#pragma once

#include "lib/config/findings.h"
#include "lib/config/job.h"
#include "lib/config/yaml_tree.h"

namespace packline {

// Puts every value of the tree into the job by the key table; unknown names, wrong types, values
// out of range and missing keys become findings.
void read_tree(const YamlNode& root, Job& job, Findings& findings);

}  // namespace packline

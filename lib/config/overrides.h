#pragma once

#include <string>

#include "lib/config/findings.h"
#include "lib/config/yaml_tree.h"

namespace packline {

// Applies one `--set a.b.0.c=YAML` to the tree: absent maps are made, the next index of a list is
// appended. A path that the key table does not have, or no YAML, is a finding and changes nothing.
void apply_set(const std::string& set, YamlNode& root, Findings& findings);

}  // namespace packline

#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/config/keys.h"
#include "lib/config/yaml_tree.h"

// Strict reading of one value: what YAML would turn into something that the writer may not have
// meant (0x1F, yes, 1_000) is refused, with what to write instead.

namespace packline {

// The node's value as the key's type and in its range; else the sentence that says what is allowed
// and what stands there.
tl::expected<KeyValue, std::string> read_value(const Key& key, const YamlNode& node);

// "a map", "a list", "empty", or the text as shown().
std::string what_stands(const YamlNode& node);

}  // namespace packline

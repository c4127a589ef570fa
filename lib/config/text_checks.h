#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/config/yaml_tree.h"

// What can be said of a YAML text by its bytes alone.

namespace packline {

// Why a text is not even given to the YAML reader: too large, no UTF-8, control characters.
std::optional<YamlMistake> check_text(std::string_view text);

// The sentence for a syntax error that the reader met in `line` (from 1; 0 unknown), with the
// usual cause where the line shows it.
std::string explain_syntax(std::string_view text, int line, std::string_view said);

}  // namespace packline

#pragma once

#include <string_view>

namespace packline {

// As in CMakeLists.txt; a test holds the two against each other.
constexpr std::string_view kVersion = "0.1.0";

}  // namespace packline

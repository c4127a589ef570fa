#pragma once

#include <string>
#include <string_view>

namespace packline {

// The roles of a line's eval split are called "eval-producer-0", "eval-sink-3", ...
constexpr std::string_view kEvalPrefix = "eval-";

inline bool serves_eval(std::string_view name) { return name.starts_with(kEvalPrefix); }

constexpr const char* kEncodeRole = "encode";  // of encoder processes, as role_of() says it

// "eval-sink-3" -> "eval-sink"
inline std::string role_of(const std::string& name) { return name.substr(0, name.rfind('-')); }

// As a sentence names it.
inline std::string in_a_sentence(const std::string& name) {
  return serves_eval(name) ? name + ", of the eval split," : name;
}

}  // namespace packline

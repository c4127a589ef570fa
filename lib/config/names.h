#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// What somebody meant who typed a name that packline does not have.

namespace packline {

// Letters to insert, delete, replace or swap with their neighbour to make one of the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `names`, if it is near enough to be meant: at most a third of its letters off, and
// two at least; "" else, and for names over 64 bytes.
std::string nearest_name(std::string_view name, const std::vector<std::string>& names);

// A key that the table does not have.
struct UnknownKey {
  std::string text;   // the sentence
  std::string meant;  // the path that was probably meant, a section's too; "" when unclear
};

// `section` is a pattern ("", "pack", "sources[]") in which `name` does not stand.
UnknownKey unknown_key(std::string_view section, std::string_view name);

}  // namespace packline

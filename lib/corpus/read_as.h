#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/corpus/source.h"

namespace packline {

// How a file is read as far as its name tells: kAuto becomes one of the others by what stands
// behind .gz or .zst: .jsonl, .json, .txt, .idx, .bin; anything else is JSONL. (A .json that does
// not begin with [ is read as JSONL all the same: seen when it is opened.)
ReadAs read_as_of(ReadAs asked, std::string_view file);

std::string_view name_of(ReadAs read_as);  // "jsonl"
std::string_view name_of(Format format);   // "chat"

// Whether records read so may be of this format.
bool goes_with(ReadAs read_as, Format format);
// Why not: "read_as: lines gives plain text, which is format: text only".
std::string why_not(ReadAs read_as, Format format);

// The path of a Megatron pair without its .idx or .bin; "" when it ends in neither.
std::string megatron_base(std::string_view file);

}  // namespace packline

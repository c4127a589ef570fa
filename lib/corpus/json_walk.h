#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <string>
#include <string_view>

// What the parsing of records shares: how a value is named in a sentence, and how one that nobody
// asked for is checked. Internal to lib/corpus.

namespace packline::json {

namespace od = simdjson::ondemand;

// A token without the blanks behind it.
std::string_view trimmed(std::string_view token);

// The value as a string, which lives as long as the document; an error also for half a surrogate
// pair.
simdjson::error_code get_text(od::value& value, std::string_view& text);

// "a string", "an array", ...; for numbers their text.
std::string describe(od::value& value);

// At most 40 bytes of a token, for a sentence; cut between characters.
std::string shortened(std::string_view text);

// Walks over a value to its end, so that what is not JSON is found wherever it stands. "" or what
// is wrong. `depth` counts the containers around the value.
std::string check_value(od::value value, std::size_t depth);

// The sentence for an error that the parser itself reports.
std::string not_json(simdjson::error_code error);

}  // namespace packline::json

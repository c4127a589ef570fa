#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Pieces of the page that `packline report` writes: plain HTML and SVG, no script, nothing from
// outside. All text that is not this program's own goes through html_text().

namespace packline {

// The text as HTML, also within an attribute's quotes, in plain UTF-8: bytes that are none and
// control characters become U+FFFD; behind `max` bytes it is cut and ends with "...".
std::string html_text(std::string_view text, std::size_t max = 4096);

// The same as code, kept from changing the direction of what stands around it.
std::string html_code(std::string_view text);

// A number that a program can read back: <data data-key="KEY" value="NUMBER">TEXT</data>.
std::string html_value(std::string_view key, double value, std::string_view text);
std::string html_count(std::string_view key, std::uint64_t value);  // "12,288"
std::string html_percent(std::string_view key, double share);       // "98.27 %"

// A histogram: one bar a bin, the axis named at both ends. `bin_names` say of each bar what it
// holds, for a pointer and for who reads instead of looking.
struct Histogram {
  std::string key;    // of the picture: its id
  std::string title;  // what is counted
  std::vector<std::uint64_t> bins;
  std::vector<std::string> bin_names;
  std::string from, to;  // ends of the axis
};
std::string histogram_svg(const Histogram& h);

// Shares over a sequence, as a line from left to right.
struct ShareLine {
  std::string key;
  std::string title;
  std::vector<double> shares;  // 0..1
  std::string from, to;
};
std::string share_line_svg(const ShareLine& line);

// A horizontal bar for a share 0..1.
std::string share_bar(double share);

}  // namespace packline

#include "launcher/report_charts.h"

#include <doctest/doctest.h>

#include <string>

namespace packline {
namespace {

std::size_t times(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size())
    ++n;
  return n;
}

TEST_CASE("html_text: nothing of a text can be taken for the page's own") {
  CHECK(html_text("<script>alert('1' & \"2\")</script>") ==
        "&lt;script&gt;alert(&#39;1&#39; &amp; &quot;2&quot;)&lt;/script&gt;");
  CHECK(html_text("plain äöü\nline") == "plain äöü\nline");
}

TEST_CASE("html_text: bytes that are no UTF-8 and control characters become U+FFFD") {
  const std::string replaced = "\xEF\xBF\xBD";
  CHECK(html_text("a\xFFz") == "a" + replaced + "z");
  CHECK(html_text(std::string_view("a\0z", 3)) == "a" + replaced + "z");
  CHECK(html_text("\x1B[31m\x7F") == replaced + "[31m" + replaced);
  CHECK(html_text("\xC3") == replaced);
}

TEST_CASE("html_text: a long text is cut at a whole character") {
  CHECK(html_text("abcdef", 3) == "abc...");
  CHECK(html_text("aää", 4) == "aä...");
}

TEST_CASE("html_value: a number is there to be read and to be read back") {
  CHECK(html_count("packs", 12345) == "<data data-key=\"packs\" value=\"12345\">12,345</data>");
  CHECK(html_percent("fill", 0.98271) ==
        "<data data-key=\"fill\" value=\"0.98271\">98.27 %</data>");
}

TEST_CASE("histogram_svg: a bar a bin, its number and name in it") {
  const std::string svg =
      histogram_svg({"k\"", "a <title>", {0, 1, 4000}, {"none", "some", "many"}, "0", "<3"});
  CHECK(times(svg, "<rect") == 3);
  CHECK(svg.find("data-n=\"4000\"") != std::string::npos);
  CHECK(svg.find("<title>many: 4,000</title>") != std::string::npos);
  CHECK(svg.find("height=\"0.00\"") != std::string::npos);  // nothing is no bar
  CHECK(svg.find("height=\"1.00\"") != std::string::npos);  // little is seen all the same
  CHECK(svg.find("k&quot;") != std::string::npos);
  CHECK(svg.find("&lt;3") != std::string::npos);
}

TEST_CASE("histogram_svg: bins without anything in them draw no bar of infinite height") {
  const std::string svg = histogram_svg({"k", "t", {0, 0}, {"a", "b"}, "0", "1"});
  CHECK(times(svg, "height=\"0.00\"") == 2);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("share_line_svg: starts at a round share below the lowest") {
  const std::string svg = share_line_svg({"w", "fill", {0.98, 1.0, 0.934}, "first", "last"});
  CHECK(svg.find(">90 %<") != std::string::npos);
  CHECK(times(svg, "H") >= 3);
  const std::string full = share_line_svg({"w", "fill", {1.0}, "first", "last"});
  CHECK(full.find(">95 %<") != std::string::npos);
  CHECK(full.find("nan") == std::string::npos);
}

TEST_CASE("share_bar: stays within its track") {
  CHECK(share_bar(1.7).find("width:100.00%") != std::string::npos);
  CHECK(share_bar(0.25).find("width:25.00%") != std::string::npos);
}

}  // namespace
}  // namespace packline

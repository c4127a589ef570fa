#include "launcher/report_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/windows/epoch_advice.h"
#include "lib/windows/json_text.h"

namespace packline {
namespace {

// Of a chart's drawing, in SVG units; words stand around it.
constexpr double kWidth = 640, kHeight = 150, kLeft = 64, kTop = 14, kBottom = 24;

std::string opened_svg(std::string_view key, std::string_view title) {
  return fmt::format("<svg id=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                     html_text(key), kLeft + kWidth + 12, kTop + kHeight + kBottom,
                     html_text(title));
}

std::string axis_text(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     html_text(text));
}

// The frame: a line below and one above, what these two mean, and the ends of the axis.
std::string frame(std::string_view low, std::string_view high, std::string_view from,
                  std::string_view to) {
  const double below = kTop + kHeight;
  return fmt::format("<path class=\"grid\" d=\"M{0} {1}H{2}M{0} {3}H{2}\"/>\n", kLeft, below,
                     kLeft + kWidth, kTop) +
         axis_text(kLeft - 8, below + 4, "end", low) + axis_text(kLeft - 8, kTop + 4, "end", high) +
         axis_text(kLeft, below + 18, "start", from) +
         axis_text(kLeft + kWidth, below + 18, "end", to);
}

}  // namespace

std::string html_text(std::string_view text, std::size_t max) {
  // Sound UTF-8 comes of the way through JSON.
  const auto sound = nlohmann::json::parse(json_text(text, max)).get<std::string>();
  std::string out;
  out.reserve(sound.size());
  for (const char c : sound) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        const bool control = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F;
        if (control) {
          out += "\xEF\xBF\xBD";
        } else {
          out += c;
        }
      }
    }
  }
  return out;
}

std::string html_code(std::string_view text) {
  return "<code><bdi>" + html_text(text) + "</bdi></code>";
}

std::string html_value(std::string_view key, double value, std::string_view text) {
  return fmt::format("<data data-key=\"{}\" value=\"{}\">{}</data>", html_text(key), value,
                     html_text(text));
}

std::string html_count(std::string_view key, std::uint64_t value) {
  return fmt::format("<data data-key=\"{}\" value=\"{}\">{}</data>", html_text(key), value,
                     grouped(value));
}

std::string html_percent(std::string_view key, double share) {
  return html_value(key, share, fmt::format("{:.2f} %", 100 * share));
}

std::string histogram_svg(const Histogram& h) {
  const std::uint64_t most = std::max<std::uint64_t>(
      1, h.bins.empty() ? 0 : *std::max_element(h.bins.begin(), h.bins.end()));
  std::string out = opened_svg(h.key, h.title) + frame("0", grouped(most), h.from, h.to);
  const double each = kWidth / static_cast<double>(std::max<std::size_t>(1, h.bins.size()));
  for (std::size_t i = 0; i < h.bins.size(); ++i) {
    // What is there is seen, however little beside the most.
    const double tall =
        h.bins[i] == 0
            ? 0
            : std::max(1.0, kHeight * static_cast<double>(h.bins[i]) / static_cast<double>(most));
    out += fmt::format(
        "<rect class=\"bar\" data-n=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" "
        "height=\"{:.2f}\"><title>{}: {}</title></rect>\n",
        h.bins[i], kLeft + each * static_cast<double>(i) + 1, kTop + kHeight - tall, each - 2, tall,
        html_text(h.bin_names[i]), grouped(h.bins[i]));
  }
  return out + "</svg>\n";
}

std::string share_line_svg(const ShareLine& line) {
  double low = 1;
  for (const double s : line.shares) low = std::min(low, s);
  // From a round share below the lowest, so that differences near the top can be seen.
  const double bottom = std::max(0.0, std::floor(std::min(low, 0.99) * 20) / 20);
  const auto y = [&](double share) {
    return kTop + kHeight * (1 - (std::min(1.0, share) - bottom) / (1 - bottom));
  };
  std::string out = opened_svg(line.key, line.title) +
                    frame(fmt::format("{:.0f} %", 100 * bottom), "100 %", line.from, line.to);
  const double each = kWidth / static_cast<double>(std::max<std::size_t>(1, line.shares.size()));
  std::string path;
  for (std::size_t i = 0; i < line.shares.size(); ++i) {
    const double x = kLeft + each * static_cast<double>(i);
    path += path.empty() ? fmt::format("M{:.2f} {:.2f}", x, y(line.shares[i]))
                         : fmt::format("V{:.2f}", y(line.shares[i]));
    path += fmt::format("H{:.2f}", x + each);
  }
  return out + "<path class=\"line\" d=\"" + path + "\"/>\n</svg>\n";
}

std::string share_bar(double share) {
  const double wide = 100 * std::clamp(share, 0.0, 1.0);
  return fmt::format(
      "<span class=\"track\" aria-hidden=\"true\"><i style=\"width:{:.2f}%\"></i></span>", wide);
}

}  // namespace packline

#include "launcher/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "launcher/report_charts.h"
#include "launcher/report_style.h"
#include "lib/app/version.h"
#include "lib/telemetry/progress_json.h"

namespace packline {
namespace {

constexpr std::size_t kSourcesWithPicture = 12;
constexpr std::size_t kSettingsBytes = std::size_t{1} << 20;

std::string fact(std::string_view name, const std::string& value) {
  return fmt::format("<div><span>{}</span><b>{}</b></div>\n", name, value);
}

std::string head(const Job& job, const EpochCount& e) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}, epoch {1}</title>\n<style>{2}</style>\n</head>\n<body>\n<main>\n"
      "<h1>{0}</h1>\n<p class=\"soft\">epoch {3}, as <code>packline count</code> counts it; the "
      "job "
      "is {4}</p>\n<section class=\"facts\">\n",
      html_text(job.name, 200), e.epoch, kReportStyle, html_count("epoch", e.epoch),
      html_code(job.file));
  out += fact("fill", html_percent("fill", e.fill()));
  out += fact("packs", html_count("packs", e.packs));
  out += fact("steps a rank", html_count("steps", e.steps()));
  out += fact("tokens", html_count("tokens", e.tokens));
  out += fact("samples", html_count("samples", e.samples));
  out += fact("records read", html_count("records", e.ledger.records_read));
  return out + "</section>\n";
}

std::string warning_section(const std::vector<EpochWarning>& warnings) {
  std::string out;
  for (const EpochWarning& w : warnings)
    out +=
        fmt::format("<p class=\"warning\" role=\"alert\" data-kind=\"{}\"><b>Warning:</b> {}</p>\n",
                    html_text(w.kind), html_text(w.text));
  return out;
}

std::string advice_section(const Job& job, const EpochCount& e, const Advice& a) {
  std::string out;
  for (const std::string& sentence : advice_sentences(job, e, a))
    out += "<li>" + html_text(sentence) + "</li>\n";
  return out.empty() ? "" : "<ul class=\"advice\">\n" + out + "</ul>\n";
}

std::string way_row(std::string_view name, std::string_view key, std::uint64_t rows, double fill,
                    const EpochCount& e) {
  const std::uint64_t padding = rows * e.capacity - std::min(rows * e.capacity, e.tokens);
  return fmt::format(
      "<tr{}><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
      key == "own" ? " class=\"own\"" : "", name, html_count(fmt::format("{}_rows", key), rows),
      html_count(fmt::format("{}_padding", key), padding),
      html_percent(fmt::format("{}_fill", key), fill), share_bar(fill));
}

std::string padding_section(const EpochCount& e) {
  std::string out =
      "<h2>Padding</h2>\n<p>The same samples in rows of the same capacity, in the usual ways.</p>\n"
      "<div class=\"wide\"><table>\n<tr><th class=\"text\"></th><th>rows</th><th>padding "
      "tokens</th>"
      "<th>fill</th><th></th></tr>\n";
  out += way_row("this job", "own", e.packs, e.fill(), e);
  out += way_row("in order, a row closed by the first sample it cannot take", "in_order_greedy",
                 e.next_fit_packs, e.next_fit_fill(), e);
  out += way_row("one sample a row", "one_sample_a_row", e.samples, e.one_a_row_fill(), e);
  return out + "</table></div>\n";
}

std::string capacity_section(const Advice& a) {
  std::string out =
      "<h2>Other capacities</h2>\n<p>What best fit over the whole epoch makes of these lengths, "
      "and "
      "what no plan exceeds. Gone are the tokens of samples that are too long, by pack.over_long. "
      "</p>\n<div class=\"wide\"><table id=\"capacities\">\n<tr><th>capacity</th><th>packs</th>"
      "<th>fill</th><th></th><th>at most</th><th>too long</th><th>tokens gone</th></tr>\n";
  for (std::size_t i = 0; i < a.capacities.size(); ++i) {
    const CapacityFit& f = a.capacities[i];
    out += fmt::format(
        "<tr{}><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>"
        "\n",
        i == a.own ? " class=\"own\"" : "", i == a.own ? "the job's " : "",
        html_count("capacity", f.capacity), html_count("capacity_packs", f.packs),
        html_percent("capacity_fill", f.fill()), share_bar(f.fill()),
        html_percent("capacity_best", f.best_fill()),
        html_count("over_long_samples", f.over_long_samples),
        html_count("tokens_gone", f.tokens_gone));
  }
  return out + "</table></div>\n";
}

std::vector<std::string> length_names(const EpochCount& e, std::size_t bins) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < bins; ++i)
    names.push_back(fmt::format("{} to {} tokens", grouped(i * e.capacity / bins + 1),
                                grouped((i + 1) * e.capacity / bins)));
  return names;
}

std::string source_picture(const EpochCount& e, std::size_t i, std::string_view path) {
  const SourceCount& s = e.details.sources[i];
  const std::string title = fmt::format("samples of source {} by length", i);
  return "<figure><h3>" + html_code(path) + "</h3>\n" +
         histogram_svg({fmt::format("lengths-{}", i), title, s.lengths,
                        length_names(e, s.lengths.size()), "1 token",
                        grouped(e.capacity) + " tokens"}) +
         "</figure>\n";
}

std::string source_section(const Job& job, const EpochCount& e) {
  const auto& sources = e.details.sources;
  std::string out =
      "<h2>Sources</h2>\n<div class=\"wide\"><table id=\"sources\">\n<tr><th class=\"text\">source"
      "</th><th>samples</th><th>tokens</th><th>of all tokens</th><th></th><th>mean "
      "length</th></tr>\n";
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const SourceCount& s = sources[i];
    const double share =
        e.tokens == 0 ? 0 : static_cast<double>(s.tokens) / static_cast<double>(e.tokens);
    out += fmt::format(
        "<tr><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{:.2f} %</td><td>{}</td>"
        "<td>{:.1f}</td></tr>\n",
        html_code(job.sources[i].pattern), html_count("source_samples", s.samples),
        html_count("source_tokens", s.tokens), 100 * share, share_bar(share),
        s.samples == 0 ? 0.0 : static_cast<double>(s.tokens) / static_cast<double>(s.samples));
  }
  out += "</table></div>\n<h2>Lengths</h2>\n<p>Delivered samples by their tokens, source by source";
  std::vector<std::size_t> shown(sources.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (shown.size() > kSourcesWithPicture) {
    std::sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
      return sources[a].tokens != sources[b].tokens ? sources[a].tokens > sources[b].tokens : a < b;
    });
    shown.resize(kSourcesWithPicture);
    out += fmt::format("; the {} of most tokens", kSourcesWithPicture);
  }
  out += ".</p>\n<div class=\"pair\">\n";
  for (const std::size_t i : shown) out += source_picture(e, i, job.sources[i].pattern);
  return out + "</div>\n";
}

std::string window_section(const EpochCount& e) {
  const FillSeries& series = e.details.windows;
  ShareLine line{"windows", "fill of each window", {}, "first window", "last window"};
  double least = 1;
  for (const FillSeries::Point& p : series.points()) {
    const double room = static_cast<double>(p.packs) * e.capacity;
    if (room == 0) continue;
    line.shares.push_back(static_cast<double>(p.tokens) / room);
    least = std::min(least, line.shares.back());
  }
  if (line.shares.empty()) return "";
  const std::string each =
      series.windows_a_point() == 1
          ? "Each window, in the order of delivery"
          : fmt::format("{} windows a point, in the order of delivery", series.windows_a_point());
  return fmt::format(
             "<h2>Fill of the windows</h2>\n<p>{}: {} windows, the least full {:.2f} %. The last "
             "window of a lane has what is left.</p>\n<figure>\n",
             each, html_count("windows", e.windows), 100 * least) +
         share_line_svg(line) + "</figure>\n";
}

std::string balance_picture(std::string_view key, std::string_view title, const StepBalance& b) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < StepBalance::kBins; ++i)
    names.push_back(fmt::format("{:.2f} {}", 1 + static_cast<double>(i) / StepBalance::kBins,
                                i + 1 == StepBalance::kBins ? "and more" : "and up"));
  return fmt::format(
             "<figure><h3>{}</h3>\n<figcaption>the costliest pack is {} times the mean, {} at "
             "worst; "
             "{} of the ranks' time is waiting</figcaption>\n",
             title,
             html_value(fmt::format("{}_mean", key), b.mean(), fmt::format("{:.3f}", b.mean())),
             html_value(fmt::format("{}_worst", key), b.worst(), fmt::format("{:.3f}", b.worst())),
             html_percent(fmt::format("{}_waiting", key), b.waiting())) +
         histogram_svg({std::string(key),
                        "steps by costliest over mean",
                        {b.bins().begin(), b.bins().end()},
                        std::move(names),
                        "1.00 (all alike)",
                        "2.00 and more"}) +
         "</figure>\n";
}

std::string balance_section(const Job& job, const Advice& a) {
  if (a.dp_size < 2 || a.balance.steps() == 0) return "";
  std::string out = fmt::format(
      "<h2>Work of a step</h2>\n<p>{} steps of {} packs. What a sample of L tokens costs: {}. The "
      "ranks wait for the costliest pack.</p>\n<div class=\"pair\">\n",
      html_count("balance_steps", a.balance.steps()), a.dp_size, cost_words(job.pack));
  out += balance_picture("balance", "as delivered", a.balance);
  if (a.balanced)
    out += balance_picture("balance_attention", "with pack.balance: attention", *a.balanced);
  return out + "</div>\n";
}

std::string loss_section(const EpochCount& e, const Advice& a) {
  std::string rows;
  for (const auto& [reason, loss] : e.details.losses) {
    std::string examples;
    for (const Loss& l : loss.examples)
      examples += "<div>" + html_code(l.where.empty() ? l.id : l.where) + " " + html_text(l.cause) +
                  "</div>";
    rows += fmt::format(
        "<tr><td class=\"text\">{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>\n",
        html_text(reason), html_count("lost_" + reason, loss.count),
        html_count("lost_tokens_" + reason, loss.tokens), examples);
  }
  if (e.ledger.tokens_truncated > 0) {
    rows += fmt::format(
        "<tr><td class=\"text\">truncated</td><td></td><td>{}</td><td "
        "class=\"text\">{}</td></tr>\n",
        html_count("truncated_tokens", e.ledger.tokens_truncated),
        a.cut ? html_code(a.cut->where) +
                    fmt::format(" the sample has {} tokens", grouped(a.cut->tokens))
              : "");
  }
  if (rows.empty()) return "<h2>Losses</h2>\n<p>Nothing was lost or cut.</p>\n";
  return "<h2>Losses</h2>\n<div class=\"wide\"><table id=\"losses\">\n<tr><th class=\"text\">reason"
         "</th><th>records or samples</th><th>tokens</th><th class=\"text\">the first "
         "ones</th></tr>"
         "\n" +
         rows + "</table></div>\n";
}

std::string settings_section(const Job& job, const EpochCount& e) {
  std::string out = fmt::format(
      "<h2>Digest</h2>\n<p>Two runs with equal digests delivered the same bytes. Stream digest "
      "<code id=\"stream-digest\">{}</code>, of the job <code id=\"fingerprint\">{}</code>.</p>\n"
      "<details><summary>By dp_rank</summary>\n<table>\n<tr><th>dp_rank</th><th>packs</th>"
      "<th>digest</th></tr>\n",
      hex16(e.stream_digest), hex16(job.fingerprint));
  for (std::size_t r = 0; r < e.ranks.size(); ++r)
    out += fmt::format("<tr><td>{}</td><td>{}</td><td><code>{}</code></td></tr>\n", r,
                       grouped(e.ranks[r].packs), hex16(e.ranks[r].digest));
  return out + "</table></details>\n<h2>Settings</h2>\n<details><summary>All that are in effect" +
         "</summary>\n<pre>" + html_text(effective_yaml(job), kSettingsBytes) +
         "</pre></details>\n";
}

}  // namespace

std::string report_page(const Job& job, const EpochCount& count, const Advice& advice,
                        const std::vector<EpochWarning>& warnings) {
  return head(job, count) + warning_section(warnings) + advice_section(job, count, advice) +
         padding_section(count) + capacity_section(advice) + balance_section(job, advice) +
         window_section(count) + source_section(job, count) + loss_section(count, advice) +
         settings_section(job, count) + "<p class=\"soft\">packline " + std::string(kVersion) +
         "</p>\n</main>\n</body>\n</html>\n";
}

}  // namespace packline

#include "lib/config/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "lib/config/addresses.h"

namespace packline {
namespace {

constexpr std::uint64_t kMultipleMax = 65536;

void check_multiple(Job& job, Findings& findings) {
  const std::uint64_t dp_size = job.deliver.dp_size;
  if (!findings.sound("deliver.dp_size") || !findings.sound("pack.dp_size_multiple")) return;
  const bool given = findings.given("pack.dp_size_multiple");
  if (!given) job.pack.dp_size_multiple = job.deliver.dp_size;
  const std::uint64_t multiple = job.pack.dp_size_multiple;
  if (multiple % dp_size != 0) {
    const std::uint64_t both = std::lcm(multiple, dp_size);
    findings.add("pack.dp_size_multiple",
                 fmt::format("{} is no multiple of deliver.dp_size: {}; set pack.dp_size_multiple: "
                             "{}",
                             multiple, dp_size, both <= kMultipleMax ? both : dp_size));
    return;
  }
  const std::uint64_t packs = job.pack.packs_per_window;
  if (findings.sound("pack.packs_per_window") && packs % multiple != 0) {
    const std::uint64_t up = (packs / multiple + 1) * multiple;
    findings.add("pack.packs_per_window",
                 fmt::format("{} is no multiple of pack.dp_size_multiple: {}{}; set "
                             "pack.packs_per_window: {}",
                             packs, multiple, given ? "" : " (as deliver.dp_size)", up));
  }
}

void check_lookahead(Job& job, Findings& findings) {
  PackSettings& pack = job.pack;
  if (!findings.given("pack.lookahead_packs")) pack.lookahead_packs = pack.packs_per_window;
  if (!looks_ahead(pack.strategy) || pack.plan == PlanKind::kGlobal || pack.lookahead_packs == 0)
    return;
  for (const char* key : {"pack.strategy", "pack.packs_per_window", "pack.lookahead_packs",
                          "pack.lookahead_windows_max"}) {
    if (!findings.sound(key)) return;
  }
  const std::uint64_t least =
      (std::uint64_t{pack.lookahead_packs} + pack.packs_per_window - 1) / pack.packs_per_window;
  if (pack.lookahead_windows_max >= least) return;
  findings.add(
      "pack.lookahead_windows_max",
      fmt::format("{} windows are too few to send {} looked-ahead packs at {} a window; set "
                  "pack.lookahead_windows_max: {} or pack.lookahead_packs: {}",
                  pack.lookahead_windows_max, pack.lookahead_packs, pack.packs_per_window, least,
                  std::uint64_t{pack.lookahead_windows_max} * pack.packs_per_window));
}

void check_shuffle(const Job& job, Findings& findings) {
  if (job.shuffle.kind == ShuffleKind::kBuffer && findings.sound("shuffle.kind") &&
      findings.sound("shuffle.size") && !findings.given("shuffle.size")) {
    findings.add("shuffle.size",
                 "is missing; shuffle.kind: buffer needs the size of its blocks in records, such "
                 "as shuffle.size: 10000");
  }
}

void check_model(const Job& job, Findings& findings) {
  if (job.encode.kind == EncodeKind::kSentencePiece && findings.sound("encode.kind") &&
      findings.sound("encode.model") && !findings.given("encode.model")) {
    findings.add("encode.model",
                 "is missing; encode.kind: sentencepiece needs a model file, such as encode.model: "
                 "tok.model");
  }
}

struct Named {
  std::string key;
  std::string text;
  LineAddress address;
};

std::vector<Named> parse_addresses(const Job& job, Findings& findings) {
  std::vector<Named> all;
  const auto add = [&](const char* list, const std::vector<std::string>& texts) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::string key = fmt::format("{}.{}", list, i);
      if (auto address = parse_address(texts[i]))
        all.push_back({std::move(key), texts[i], std::move(*address)});
      else
        findings.add(key, address.error());
    }
  };
  add("line.producers", job.line.producers);
  add("line.sinks", job.line.sinks);
  add("line.eval_producers", job.line.eval_producers);
  add("line.eval_sinks", job.line.eval_sinks);
  return all;
}

// The two lists of one split.
void check_both_or_none(const char* producers_key, const std::vector<std::string>& producers,
                        const char* sinks_key, const std::vector<std::string>& sinks,
                        const Job& job, Findings& findings) {
  if (producers.empty() != sinks.empty()) {
    findings.add(producers.empty() ? producers_key : sinks_key,
                 "is missing; give an address to each producer and each sink, or leave "
                 "both out and let `packline run` make the line");
    return;
  }
  if (!sinks.empty() && sinks.size() != job.deliver.dp_size && findings.sound("deliver.dp_size")) {
    findings.add(sinks_key,
                 fmt::format("{} sinks for deliver.dp_size: {}; each dp_rank has one sink",
                             sinks.size(), job.deliver.dp_size));
  }
}

void check_line_sizes(const Job& job, Findings& findings) {
  const LineSettings& line = job.line;
  check_both_or_none("line.producers", line.producers, "line.sinks", line.sinks, job, findings);
  check_both_or_none("line.eval_producers", line.eval_producers, "line.eval_sinks", line.eval_sinks,
                     job, findings);
  if (line.producers.size() > job.lanes && findings.sound("lanes")) {
    findings.add("line.producers",
                 fmt::format("{} producers for {} lanes; a producer owns at least one, set lanes: "
                             "{} (another stream) or name fewer producers",
                             line.producers.size(), job.lanes, line.producers.size()));
  }
  if (line.eval_producers.size() > 1) {
    findings.add("line.eval_producers",
                 fmt::format("{} producers; the eval split is read in order, by one",
                             line.eval_producers.size()));
  }
}

void check_line(const Job& job, Findings& findings) {
  for (const char* list :
       {"line.producers", "line.sinks", "line.eval_producers", "line.eval_sinks"}) {
    if (!findings.sound(list)) return;
  }
  check_line_sizes(job, findings);
  const std::vector<Named> all = parse_addresses(job, findings);
  // Sorted, so that those which overlap are neighbours, however many there are.
  std::vector<const Named*> sorted;
  for (const Named& one : all) sorted.push_back(&one);
  std::ranges::sort(sorted, {}, [](const Named* n) {
    const LineAddress& a = n->address;
    return std::tie(a.tcp, a.host, a.path, a.port, n->key);
  });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (!overlap(sorted[i - 1]->address, sorted[i]->address)) continue;
    findings.add(
        sorted[i]->key,
        fmt::format("\"{}\" collides with {}; a process takes {} ports from its address on",
                    shown(sorted[i]->text), sorted[i - 1]->key, kPorts));
  }
  const auto outside =
      std::ranges::find_if(all, [](const Named& n) { return !n.address.loopback; });
  if (!job.line.security_none && (outside != all.end() || (job.line.bind_any && !all.empty())) &&
      findings.sound("line.security")) {
    findings.add("line.security",
                 fmt::format("is missing; {} can be reached from other hosts and the line is not "
                             "encrypted, say so with line.security: none",
                             outside != all.end() ? shown(outside->text) : "line.bind: any"));
  }
}

}  // namespace

void check_rules(Job& job, Findings& findings) {
  job.pack.seed = job.seed;
  check_multiple(job, findings);
  check_lookahead(job, findings);
  check_packing(job, findings);
  check_eval(job, findings);
  check_shuffle(job, findings);
  check_sources(job, findings);
  check_model(job, findings);
  check_line(job, findings);
}

}  // namespace packline

#include "lib/config/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "lib/config/addresses.h"

namespace packline {
namespace {

constexpr std::uint64_t kMultipleMax = 65536;

std::string source_key(std::size_t i, const char* name) {
  return fmt::format("sources.{}.{}", i, name);
}

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
  if (pack.strategy == Strategy::kSequential || pack.lookahead_packs == 0) return;
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

void check_weights(const Job& job, Findings& findings) {
  std::size_t with = 0;
  for (std::size_t i = 0; i < job.sources.size(); ++i) {
    with += findings.given(source_key(i, "weight"));
  }
  if (with == 0 || with == job.sources.size()) return;
  for (std::size_t i = 0; i < job.sources.size(); ++i) {
    const std::string key = source_key(i, "weight");
    if (findings.given(key) || !findings.sound(key)) continue;
    findings.add(key, fmt::format("is missing; {} of {} sources have a weight, give one to all of "
                                  "them or to none",
                                  with, job.sources.size()));
  }
}

// Two keys of a record that its format reads must not be one.
void check_fields(const Job& job, Findings& findings) {
  for (std::size_t i = 0; i < job.sources.size(); ++i) {
    const FieldNames& f = job.sources[i].fields;
    const std::array<std::pair<const char*, const std::string*>, 6> of_record{
        {{"text", &f.text},
         {"messages", &f.messages},
         {"input_ids", &f.input_ids},
         {"labels", &f.labels},
         {"loss_mask", &f.loss_mask},
         {"id", &f.id}}};
    std::map<std::string, const char*> seen;
    for (const auto& [name, value] : of_record) {
      const auto [first, is_new] = seen.emplace(*value, name);
      if (is_new) continue;
      findings.add(fmt::format("sources.{}.fields.{}", i, name),
                   fmt::format("{} is already what fields.{} names", shown(*value), first->second));
    }
    if (f.role == f.content) {
      findings.add(fmt::format("sources.{}.fields.content", i),
                   fmt::format("{} is already what fields.role names", shown(f.role)));
    }
  }
}

void check_formats(const Job& job, Findings& findings) {
  if (!findings.sound("encode.kind")) return;
  const bool tokens = job.encode.kind == EncodeKind::kTokens;
  for (std::size_t i = 0; i < job.sources.size(); ++i) {
    const std::string key = source_key(i, "format");
    if (!findings.sound(key) || (job.sources[i].format == Format::kTokens) == tokens) continue;
    findings.add(key, tokens
                          ? "encode.kind: tokens takes ready token ids only; set format: tokens, "
                            "or encode.kind: sentencepiece or bytes"
                          : "format: tokens needs encode.kind: tokens, which takes the ids as "
                            "they are, for all sources");
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
  return all;
}

void check_line_sizes(const Job& job, Findings& findings) {
  const LineSettings& line = job.line;
  if (line.producers.empty() != line.sinks.empty()) {
    const char* missing = line.producers.empty() ? "line.producers" : "line.sinks";
    findings.add(missing,
                 "is missing; give an address to each producer and each sink, or leave "
                 "both out and let `packline run` make the line");
    return;
  }
  if (line.producers.size() > job.lanes && findings.sound("lanes")) {
    findings.add("line.producers",
                 fmt::format("{} producers for {} lanes; a producer owns at least one, set lanes: "
                             "{} (another stream) or name fewer producers",
                             line.producers.size(), job.lanes, line.producers.size()));
  }
  if (!line.sinks.empty() && line.sinks.size() != job.deliver.dp_size &&
      findings.sound("deliver.dp_size")) {
    findings.add("line.sinks", fmt::format("{} sinks for deliver.dp_size: {}; each dp_rank has one "
                                           "sink",
                                           line.sinks.size(), job.deliver.dp_size));
  }
}

void check_line(const Job& job, Findings& findings) {
  if (!findings.sound("line.producers") || !findings.sound("line.sinks")) return;
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
  check_shuffle(job, findings);
  check_weights(job, findings);
  check_fields(job, findings);
  check_formats(job, findings);
  check_model(job, findings);
  check_line(job, findings);
}

}  // namespace packline

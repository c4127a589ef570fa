#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "lib/config/paths.h"
#include "lib/config/rules.h"
#include "lib/config/yaml_tree.h"
#include "lib/corpus/read_as.h"

namespace packline {
namespace {

std::string source_key(std::size_t i, const char* name) {
  return fmt::format("sources.{}.{}", i, name);
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
    if (!findings.sound(key) || job.encode.kind == EncodeKind::kPython) continue;
    if (job.sources[i].format == Format::kAny) {
      findings.add(key, "format: any is for an encoder of your own, encode.kind: python");
      continue;
    }
    if ((job.sources[i].format == Format::kTokens) == tokens) continue;
    findings.add(key, tokens
                          ? "encode.kind: tokens takes ready token ids only; set format: tokens, "
                            "or encode.kind: sentencepiece or bytes"
                          : "format: tokens needs encode.kind: tokens, which takes the ids as "
                            "they are, for all sources");
  }
}

// What read_as alone rules out; where it is auto, names decide: check_source_files().
void check_read_as(const Job& job, Findings& findings) {
  for (std::size_t i = 0; i < job.sources.size(); ++i) {
    const SourceSettings& source = job.sources[i];
    const std::string key = source_key(i, "read_as");
    if (!findings.sound(key)) continue;
    if (source.read_as != ReadAs::kAuto && source.read_as != ReadAs::kMegatron &&
        source.record == RecordIs::kSequence && findings.sound(source_key(i, "record"))) {
      findings.add(source_key(i, "record"),
                   fmt::format("sequence says something about Megatron pairs only, and read_as is "
                               "{}; leave it out",
                               name_of(source.read_as)));
    }
    if (findings.sound(source_key(i, "format")) && !goes_with(source.read_as, source.format)) {
      findings.add(key, why_not(source.read_as, source.format));
    }
  }
}

}  // namespace

void check_sources(const Job& job, Findings& findings) {
  check_weights(job, findings);
  check_fields(job, findings);
  check_formats(job, findings);
  check_read_as(job, findings);
}

void check_source_files(const Job& job, std::size_t i, Findings& findings) {
  const SourceSettings& source = job.sources[i];
  if (!findings.sound(source_key(i, "read_as")) || !findings.sound(source_key(i, "format"))) return;
  if (!goes_with(source.read_as, source.format)) return;  // told already
  for (const std::string& file : source.files) {
    const ReadAs read_as = read_as_of(source.read_as, file);
    if (!goes_with(read_as, source.format)) {
      findings.add(source_key(i, "format"),
                   fmt::format("{} is read as {} because of its name; {}", file, name_of(read_as),
                               why_not(read_as, source.format)));
      return;
    }
    if (read_as != ReadAs::kMegatron) continue;
    const std::string base = megatron_base(file);
    if (base.empty()) {
      findings.add(source_key(i, "path"),
                   fmt::format("{} does not end in .idx or .bin, as the two files of a Megatron "
                               "source do; one that is packed must be unpacked first",
                               file));
      return;
    }
    for (const char* ending : {".idx", ".bin"}) {
      const std::string why = why_unreadable(base + ending);
      if (why.empty()) continue;
      findings.add(source_key(i, "path"),
                   fmt::format("{}{} {}; a Megatron source is the pair NAME.idx and NAME.bin", base,
                               ending, why));
      return;
    }
  }
}

}  // namespace packline

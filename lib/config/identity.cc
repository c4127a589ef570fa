#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "lib/base/check.h"
#include "lib/config/job.h"
#include "lib/config/keys.h"
#include "lib/hash/xxh3.h"

namespace packline {
namespace {

namespace fs = std::filesystem;
using Identity = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kValueMax = 24;
constexpr std::size_t kSourcesApart = 8;  // more are one entry, or a cursor would grow with them

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::string shortened(const std::string& value) {
  return value.size() <= kValueMax ? value : hex(xxh3(value));
}

std::string canonical(const Identity& identity) {
  std::string text;
  for (const auto& [key, value] : identity) text += fmt::format("{}={}\n", key, value);
  return text;
}

// The effective value of a key of the table, without the quotes that YAML may need.
std::string value_of(const Job& job, const char* path) {
  const Key* key = find_key(path);
  PL_CHECK(key != nullptr);
  return key->get(job, 0);
}

// As seen from the job file, so that the folder of a job may move.
std::string relative_pattern(const Job& job, const SourceSettings& source) {
  return (fs::path(job.folder) / source.pattern)
      .lexically_normal()
      .lexically_relative(fs::path(job.folder).lexically_normal())
      .string();
}

std::string fields_text(const FieldNames& f) {
  std::string text;
  for (const std::string* name :
       {&f.text, &f.messages, &f.role, &f.content, &f.input_ids, &f.labels, &f.loss_mask, &f.id}) {
    text += fmt::format("{}:{},", name->size(), *name);  // lengths: no name runs into the next
  }
  return text;
}

// What has its default is left out: a source is three entries as a rule.
Identity source_identity(const Job& job, std::size_t i, std::uint64_t content) {
  const SourceSettings& source = job.sources[i];
  Identity entries;
  const auto add = [&](const char* name, const std::string& value) {
    entries.emplace_back(fmt::format("sources.{}.{}", i, name), shortened(value));
  };
  add("path", relative_pattern(job, source));
  if (source.read_as != ReadAs::kAuto) add("read_as", find_key("sources[].read_as")->get(job, i));
  add("format", find_key("sources[].format")->get(job, i));
  if (source.record != RecordIs::kDocument) add("record", "sequence");
  if (source.weight > 0) add("weight", fmt::format("{}", source.weight));
  if (source.repeat != 1) add("repeat", fmt::format("{}", source.repeat));
  if (const std::string fields = fields_text(source.fields); fields != fields_text(FieldNames{})) {
    add("fields", hex(xxh3(fields)));
  }
  add("content", hex(content));
  return entries;
}

void add_sources(Job& job, const std::vector<std::uint64_t>& contents) {
  Identity all;
  for (std::size_t i = 0; i < job.sources.size(); ++i) {
    for (auto& entry : source_identity(job, i, contents[i])) all.push_back(std::move(entry));
  }
  if (job.sources.size() <= kSourcesApart) {
    for (auto& entry : all) job.identity.push_back(std::move(entry));
    return;
  }
  job.identity.emplace_back("sources", fmt::format("{}", job.sources.size()));
  job.identity.emplace_back("sources.all", hex(xxh3(canonical(all))));
}

void add_encode(Job& job, const std::string& encoder) {
  if (in_processes(job.encode.kind)) {
    job.identity.emplace_back("encode.kind", value_of(job, "encode.kind"));
    if (job.encode.kind == EncodeKind::kHf) {
      for (const char* key : {"encode.add_bos", "encode.add_eos", "encode.train"})
        job.identity.emplace_back(key, value_of(job, key));
    } else {
      job.identity.emplace_back("encode.function", shortened(job.encode.function));
    }
    if (!job.encode.version.empty())
      job.identity.emplace_back("encode.version", shortened(job.encode.version));
    job.identity.emplace_back("encoder", shortened(encoder));
    return;
  }
  std::vector<const char*> keys{"encode.kind", "encode.add_bos", "encode.add_eos"};
  const bool chat = std::ranges::any_of(
      job.sources, [](const SourceSettings& s) { return s.format == Format::kChat; });
  if (chat) keys.insert(keys.end(), {"encode.roles", "encode.train"});
  for (const char* key : keys) job.identity.emplace_back(key, shortened(value_of(job, key)));
  job.identity.emplace_back("encoder", shortened(encoder));
}

void add_pack(Job& job) {
  const PackSettings& pack = job.pack;
  std::vector<const char*> keys{"pack.capacity", "pack.strategy", "pack.packs_per_window"};
  if (pack.plan == PlanKind::kGlobal) {
    keys.insert(keys.end(), {"pack.plan", "pack.replan_each_epoch"});
  } else if (looks_ahead(pack.strategy)) {
    keys.push_back("pack.lookahead_packs");
    if (pack.lookahead_packs > 0) {
      keys.insert(keys.end(), {"pack.lookahead_samples_max", "pack.lookahead_windows_max"});
    }
  }
  if (pack.max_samples > 0) keys.push_back("pack.max_samples");
  if (pack.sample_multiple_of > 1) keys.push_back("pack.sample_multiple_of");
  if (pack.strategy != Strategy::kWrapped) keys.push_back("pack.over_long");
  if (pack.drop_unsupervised) keys.push_back("pack.drop_unsupervised");
  if (pack.balance != Balance::kNone) {
    keys.insert(keys.end(), {"pack.balance", "pack.cost_per_token"});
  }
  if (pack.same_kind) keys.push_back("pack.same_kind");
  keys.insert(keys.end(), {"pack.dp_size_multiple", "deliver.remainder"});
  for (const char* key : keys) job.identity.emplace_back(key, shortened(value_of(job, key)));
}

const std::string* value_in(const Identity& identity, const std::string& key) {
  const auto found = std::ranges::find(identity, key, &Identity::value_type::first);
  return found == identity.end() ? nullptr : &found->second;
}

}  // namespace

// Left out on purpose: epochs (only ends the stream), on_bad_record (a stop or none; the same
// samples go on), encode.threads, .processes and how they are run, deliver.* but the remainder,
// line.*, name and state.
void identify(Job& job, const std::vector<std::uint64_t>& source_contents,
              const std::string& encoder) {
  PL_CHECK_EQ(source_contents.size(), job.sources.size());
  job.identity.clear();
  job.identity.emplace_back("stream_version", fmt::format("{}", kStreamVersion));
  job.identity.emplace_back("seed", fmt::format("{}", job.seed));
  job.identity.emplace_back("lanes", fmt::format("{}", job.lanes));
  job.identity.emplace_back("shuffle.kind", value_of(job, "shuffle.kind"));
  if (job.shuffle.kind == ShuffleKind::kBuffer) {
    job.identity.emplace_back("shuffle.size", value_of(job, "shuffle.size"));
  }
  add_sources(job, source_contents);
  add_encode(job, encoder);
  add_pack(job);
  if (job.eval.fraction > 0) {
    job.identity.emplace_back("eval.fraction", value_of(job, "eval.fraction"));
    job.identity.emplace_back("eval.seed", value_of(job, "eval.seed"));
    job.identity.emplace_back("split", value_of(job, "split"));
  }
  job.fingerprint = fingerprint_of(job.identity);
}

std::uint64_t packs_in_every_epoch(const Job& job) {
  const std::string* text = value_in(job.identity, kPacksInEveryEpoch);
  std::uint64_t packs = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), packs);
  return packs;
}

std::uint64_t fingerprint_of(const Identity& identity) { return xxh3(canonical(identity)); }

std::string first_difference(const Identity& now, const Identity& was) {
  for (const auto& [key, value] : now) {
    const std::string* before = value_in(was, key);
    if (before == nullptr) return fmt::format("{}: {}, was not set", key, value);
    if (*before != value) return fmt::format("{}: {}, was {}", key, value, *before);
  }
  for (const auto& [key, value] : was) {
    if (value_in(now, key) == nullptr) return fmt::format("{}: not set, was {}", key, value);
  }
  return "";
}

}  // namespace packline

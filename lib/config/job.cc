#include "lib/config/job.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "lib/base/utf8.h"
#include "lib/config/findings.h"
#include "lib/config/overrides.h"
#include "lib/config/paths.h"
#include "lib/config/rules.h"
#include "lib/config/tree_reader.h"
#include "lib/config/yaml_tree.h"

namespace packline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kJobNameMax = 64;

// At most one byte more than may be read, which is enough to know that there are too many.
bool read_file(const std::string& file, std::string& text, Findings& findings) {
  std::string why = why_unreadable(file);
  if (why.empty()) {
    std::ifstream stream(file, std::ios::binary);
    text.resize(kYamlBytesMax + 1);
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
    if (stream.bad() || !stream.eof()) {
      why = text.size() > kYamlBytesMax
                ? fmt::format("has more than {} bytes, which is no job file; is it a data file?",
                              kYamlBytesMax)
                : "cannot be read to its end";
    }
  }
  if (!why.empty()) findings.add_at(0, false, "", "the job file " + why);
  return why.empty();
}

bool read_root(const std::string& text, YamlNode& root, Findings& findings) {
  YamlText yaml = parse_yaml(text);
  for (YamlMistake& mistake : yaml.mistakes) {
    findings.add_at(mistake.line, false, "", std::move(mistake.text));
  }
  if (!yaml.whole) return false;
  if (yaml.root.kind != YamlNode::Kind::kMap) {
    const bool empty = yaml.root.kind == YamlNode::Kind::kNull;
    findings.add_at(empty ? 0 : yaml.root.line, false, "",
                    empty ? "the job file is empty; config/job.reference.yaml names every key"
                          : "the job file must be a map of settings, such as version: 1");
    return false;
  }
  root = std::move(yaml.root);
  return true;
}

std::string folder_of(const std::string& file) {
  std::error_code error;
  const fs::path whole = fs::absolute(file, error);
  return (error ? fs::path(file) : whole).lexically_normal().parent_path().string();
}

void resolve_sources(Job& job, Findings& findings) {
  for (std::size_t i = 0; i < job.sources.size(); ++i) {
    const std::string key = fmt::format("sources.{}.path", i);
    if (!findings.given(key) || !findings.sound(key)) continue;
    auto files = matched_files(job.folder, job.sources[i].pattern);
    if (files) {
      job.sources[i].files = std::move(*files);
      check_source_files(job, i, findings);
      check_pipe(job, i, findings);
    } else {
      findings.add(key, std::move(files.error()));
    }
  }
}

void resolve_paths(Job& job, Data data, Findings& findings) {
  if (data == Data::kHere) resolve_sources(job, findings);
  job.state = absolute_path(job.folder, job.state);
  struct stat info{};
  if (findings.sound("state") && ::stat(job.state.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {
    findings.add("state", fmt::format("{} is no folder; name one, it is made when absent",
                                      shown(job.state)));
  }
  if (!job.encode.path.empty() && findings.sound("encode.path"))
    job.encode.path = absolute_path(job.folder, job.encode.path);
  if (job.encode.model.empty() || !findings.sound("encode.model")) return;
  job.encode.model = absolute_path(job.folder, job.encode.model);
  if (job.encode.kind == EncodeKind::kHf && data == Data::kHere) {
    const std::string file = job.encode.model + "/tokenizer.json";
    if (const std::string why = why_unreadable(file); !why.empty()) {
      findings.add("encode.model", fmt::format("{} {}; name the folder of a fast tokenizer, as "
                                               "save_pretrained() writes it",
                                               file, why));
    }
  }
  if (job.encode.kind != EncodeKind::kSentencePiece || data == Data::kElsewhere)
    return;  // not opened
  if (const std::string why = why_unreadable(job.encode.model); !why.empty()) {
    findings.add("encode.model",
                 fmt::format("{} {}; paths are relative to the job file", job.encode.model, why));
  }
}

}  // namespace

Selection Job::selection() const {
  constexpr double kAll = 18446744073709551616.0;  // 2^64
  return {static_cast<std::uint64_t>(eval.fraction * kAll), eval.seed, split == Split::kEval};
}

LoadedJob load_job(const std::string& file, const std::vector<std::string>& sets, Data data) {
  LoadedJob loaded;
  Job& job = loaded.job;
  Findings findings(file);
  job.file = file;
  job.folder = folder_of(file);
  job.name = as_utf8(fs::path(file).stem().string(), kJobNameMax);
  std::string text;
  YamlNode root;
  if (read_file(file, text, findings) && read_root(text, root, findings)) {
    for (const std::string& set : sets) apply_set(set, root, findings);
    read_tree(root, job, findings);
    check_rules(job, findings);
    resolve_paths(job, data, findings);
    if (job.split == Split::kEval) become_eval(job);
  }
  loaded.mistakes = findings.take();
  return loaded;
}

}  // namespace packline

#include "lib/config/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/config/keys.h"
#include "lib/config/yaml_tree.h"

namespace packline {
namespace {

constexpr std::size_t kNameMax = 64;

// What other tools call it -> where packline has it.
constexpr std::array kAliases = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"max_length", "pack.capacity"},
    {"packing_length", "pack.capacity"},
    {"max_seq_length", "pack.capacity"},
    {"max_seq_len", "pack.capacity"},
    {"seq_length", "pack.capacity"},
    {"seq_len", "pack.capacity"},
    {"sequence_length", "pack.capacity"},
    {"sequence_len", "pack.capacity"},
    {"context_length", "pack.capacity"},
    {"cutoff_len", "pack.capacity"},
    {"block_size", "pack.capacity"},
    {"max_tokens", "pack.capacity"},
    {"model_max_length", "pack.capacity"},
    {"pack_size", "pack.capacity"},
    {"packing_strategy", "pack.strategy"},
    {"window", "pack.packs_per_window"},
    {"window_size", "pack.packs_per_window"},
    {"packing_batch_size", "pack.packs_per_window"},
    {"lookahead", "pack.lookahead_packs"},
    {"truncation_strategy", "pack.over_long"},
    {"truncation", "pack.over_long"},
    {"overlong", "pack.over_long"},
    {"batch", "deliver.packs_per_optimizer_step"},
    {"epoch", "epochs"},
    {"num_epochs", "epochs"},
    {"num_train_epochs", "epochs"},
    {"max_epochs", "epochs"},
    {"random_state", "seed"},
    {"random_seed", "seed"},
    {"data_seed", "seed"},
    {"run_name", "name"},
    {"job_name", "name"},
    {"output_dir", "state"},
    {"cache_dir", "state"},
    {"dataset", "sources"},
    {"datasets", "sources"},
    {"data", "sources"},
    {"data_files", "sources"},
    {"data_path", "sources"},
    {"train_file", "sources"},
    {"source", "sources"},
    {"file", "sources[].path"},
    {"files", "sources[].path"},
    {"glob", "sources[].path"},
    {"type", "sources[].format"},
    {"prob", "sources[].weight"},
    {"probability", "sources[].weight"},
    {"interleave_probs", "sources[].weight"},
    {"sampling_rate", "sources[].repeat"},
    {"upsample", "sources[].repeat"},
    {"columns", "sources[].fields"},
    {"field", "sources[].fields"},
    {"text_column", "sources[].fields.text"},
    {"text_field", "sources[].fields.text"},
    {"dataset_text_field", "sources[].fields.text"},
    {"conversations", "sources[].fields.messages"},
    {"messages_field", "sources[].fields.messages"},
    {"shuffle_buffer_size", "shuffle.size"},
    {"buffer_size", "shuffle.size"},
    {"streaming_shuffle_buffer", "shuffle.size"},
    {"num_shards", "lanes"},
    {"strict", "on_bad_record"},
    {"on_error", "on_bad_record"},
    {"encoder", "encode"},
    {"tokenizer", "encode.model"},
    {"tokenizer_path", "encode.model"},
    {"tokenizer_model", "encode.model"},
    {"num_proc", "encode.threads"},
    {"num_workers", "encode.threads"},
    {"dataset_num_proc", "encode.threads"},
    {"preprocessing_num_workers", "encode.threads"},
    {"dataloader_num_workers", "encode.threads"},
    {"add_bos_token", "encode.add_bos"},
    {"add_eos_token", "encode.add_eos"},
    {"chat_template", "encode.roles"},
    {"loss_scale", "encode.train"},
    {"assistant_only_loss", "encode.train"},
    {"train_on_inputs", "encode.train"},
    {"packing", "pack"},
    {"packer", "pack"},
    {"delivery", "deliver"},
    {"world_size", "deliver.dp_size"},
    {"nproc", "deliver.dp_size"},
    {"nproc_per_node", "deliver.dp_size"},
    {"data_parallel_size", "deliver.dp_size"},
    {"dp", "deliver.dp_size"},
    {"tensor_parallel_size", "deliver.ranks_per_dp_rank"},
    {"tp_size", "deliver.ranks_per_dp_rank"},
    {"batch_size", "deliver.packs_per_optimizer_step"},
    {"micro_batch_size", "deliver.packs_per_optimizer_step"},
    {"per_device_train_batch_size", "deliver.packs_per_optimizer_step"},
    {"gradient_accumulation_steps", "deliver.packs_per_optimizer_step"},
    {"drop_last", "deliver.remainder"},
    {"prefetch", "deliver.window_credit"},
    {"prefetch_factor", "deliver.window_credit"},
    {"credit", "deliver.window_credit"},
    {"lease", "deliver.lease_ms"},
    {"timeout", "deliver.fail_after_s"},
    {"ddp_timeout", "deliver.fail_after_s"},
    {"endpoints", "line"},
    {"encryption", "line.security"},
});

// As a name of the table would be written: Max-Length -> max_length.
std::string written_our_way(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c == '-' || c == ' ') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

std::string last_name(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return std::string(dot == std::string_view::npos ? path : path.substr(dot + 1));
}

std::string for_people(std::string_view pattern) {
  std::string out(pattern);
  const std::size_t at = out.find("[]");
  if (at != std::string::npos) out.replace(at, 2, ".0");
  return out;
}

// The one key or section of another place whose last name is exactly this.
std::string elsewhere(std::string_view name) {
  for (const char* section : {"pack", "deliver", "encode", "shuffle", "line", ""}) {
    for (const std::string& inside : names_inside(section)) {
      if (inside == name) return joined(section, inside);
    }
  }
  for (const Key& key : job_keys()) {
    if (last_name(key.path) == name) return key.path;
  }
  return "";
}

std::string nearest_elsewhere(std::string_view name) {
  std::vector<std::string> names;
  for (const Key& key : job_keys()) names.push_back(last_name(key.path));
  const std::string found = nearest_name(name, names);
  return found.empty() ? "" : elsewhere(found);
}

std::string inside_sentence(std::string_view section) {
  return fmt::format("{} has: {}", section.empty() ? "the top level" : for_people(section),
                     fmt::join(names_inside(section), ", "));
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = last;
    last = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& names) {
  if (name.size() > kNameMax) return "";
  const std::string mine = written_our_way(name);
  std::string best;
  std::size_t best_distance = kNameMax;
  for (const std::string& candidate : names) {
    const std::size_t distance = edit_distance(mine, candidate);
    const std::size_t most = std::max<std::size_t>(2, candidate.size() / 3);
    if (distance <= most && distance < candidate.size() && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

UnknownKey unknown_key(std::string_view section, std::string_view name) {
  const std::string mine = written_our_way(name.substr(0, kNameMax + 1));
  const std::string near = nearest_name(mine, names_inside(section));
  if (name == "<<") {
    return {"merge keys (<<) are not read; write the values out", ""};
  }
  if (name.find('.') != std::string_view::npos && find_key(name) != nullptr) {
    return {"a name with dots is for --set; in the file write maps inside each other",
            std::string(name)};
  }
  if (near == mine) {  // only its capitals or dashes were wrong
    return {fmt::format("unknown; packline writes it {}", near), joined(section, near)};
  }
  for (const auto& [alias, path] : kAliases) {
    if (alias == mine) {
      return {fmt::format("unknown; packline calls it {}", for_people(path)), std::string(path)};
    }
  }
  if (const std::string other = elsewhere(mine); !other.empty()) {
    return {fmt::format("unknown here; packline has it as {}", for_people(other)), other};
  }
  if (!near.empty()) {
    const std::string path = joined(section, near);
    return {fmt::format("unknown; did you mean {}? {}", for_people(path), inside_sentence(section)),
            path};
  }
  if (const std::string other = nearest_elsewhere(mine); !other.empty()) {
    return {
        fmt::format("unknown; did you mean {}? {}", for_people(other), inside_sentence(section)),
        other};
  }
  return {fmt::format("unknown; {}", inside_sentence(section)), ""};
}

}  // namespace packline

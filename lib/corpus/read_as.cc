#include "lib/corpus/read_as.h"

#include <fmt/format.h>

#include <array>

namespace packline {
namespace {

std::string_view without_packing(std::string_view file) {
  for (const std::string_view ending : {".gz", ".zst"}) {
    if (file.ends_with(ending)) return file.substr(0, file.size() - ending.size());
  }
  return file;
}

}  // namespace

ReadAs read_as_of(ReadAs asked, std::string_view file) {
  if (asked != ReadAs::kAuto) return asked;
  const std::string_view name = without_packing(file);
  if (name.ends_with(".json")) return ReadAs::kJson;
  if (name.ends_with(".txt")) return ReadAs::kLines;
  if (name.ends_with(".idx") || name.ends_with(".bin")) return ReadAs::kMegatron;
  return ReadAs::kJsonl;
}

std::string_view name_of(ReadAs read_as) {
  constexpr std::array<std::string_view, 6> kNames = {"auto",  "jsonl", "json",
                                                      "lines", "files", "megatron"};
  return kNames[static_cast<std::size_t>(read_as)];
}

std::string_view name_of(Format format) {
  constexpr std::array<std::string_view, 4> kNames = {"text", "chat", "tokens", "any"};
  return kNames[static_cast<std::size_t>(format)];
}

bool goes_with(ReadAs read_as, Format format) {
  if (format == Format::kAny) return true;
  if (read_as == ReadAs::kLines || read_as == ReadAs::kFiles) return format == Format::kText;
  return read_as != ReadAs::kMegatron || format == Format::kTokens;
}

std::string why_not(ReadAs read_as, Format format) {
  const bool ids = read_as == ReadAs::kMegatron;
  return fmt::format(
      "read_as: {} gives {}, which does not go with format: {}; set format: {}, or "
      "read_as: jsonl or json if the files hold JSON",
      name_of(read_as), ids ? "token ids" : "plain text", name_of(format), ids ? "tokens" : "text");
}

std::string megatron_base(std::string_view file) {
  if (!file.ends_with(".idx") && !file.ends_with(".bin")) return {};
  return std::string(file.substr(0, file.size() - 4));
}

}  // namespace packline

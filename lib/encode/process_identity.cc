#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "lib/encode/encoder.h"
#include "lib/hash/xxh3.h"

namespace packline {
namespace {

constexpr const char* kTokenizerFiles[] = {"tokenizer.json", "tokenizer_config.json",
                                           "chat_template.jinja"};

std::uint64_t size_of_file(const std::string& path) {
  std::error_code absent;
  const auto size = std::filesystem::file_size(path, absent);
  return absent ? 0 : size;
}

// Of a file that may be absent.
Result<std::uint64_t> content_hash(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file && errno == ENOENT) return 0;
  std::string content;
  char buffer[1 << 16];
  while (file) {
    const std::size_t n = std::fread(buffer, 1, sizeof buffer, file.get());
    content.append(buffer, n);
    if (n < sizeof buffer) break;
  }
  if (!file || std::ferror(file.get()) != 0) {
    return fail(ExitCode::kWrongJob,
                fmt::format("encode.model: {} cannot be read: {}", path, std::strerror(errno)));
  }
  return xxh3(content);
}

}  // namespace

std::string process_identity(const EncodeSettings& settings) {
  std::string text = "python " + settings.function;
  if (settings.kind == EncodeKind::kHf) {
    const bool all = settings.train == EncodeSettings::Train::kAll;
    text = fmt::format("hf train={} add_bos={:d} add_eos={:d} files=", all ? "all" : "assistant",
                       settings.add_bos, settings.add_eos);
    for (const char* name : kTokenizerFiles)
      text += fmt::format("{}{}:{}", text.back() == '=' ? "" : ",", name,
                          size_of_file(fmt::format("{}/{}", settings.model, name)));
  }
  if (!settings.version.empty()) text += " version=" + settings.version;
  return text;
}

Result<std::string> process_fingerprint(const EncodeSettings& settings) {
  std::string text = process_identity(settings);
  if (settings.kind != EncodeKind::kHf) return text;
  for (const char* name : kTokenizerFiles) {
    const Result<std::uint64_t> hash = content_hash(fmt::format("{}/{}", settings.model, name));
    if (!hash) return tl::unexpected<Error>(hash.error());
    text += fmt::format(" {:016x}", *hash);
  }
  return text;
}

}  // namespace packline

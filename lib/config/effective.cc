#include <fmt/format.h>

#include "lib/config/job.h"
#include "lib/config/keys.h"

namespace packline {
namespace {

constexpr std::string_view kSource = "sources[].";

// Writes "a.b.c" = value as nested maps, opening each section at its first key. `indent` stands
// before every line; `open` is the section that the line before stood in.
void write_key(std::string& out, std::string_view indent, std::string& open, std::string_view path,
               std::string_view value) {
  const std::size_t dot = path.rfind('.');
  const std::string section(dot == std::string_view::npos ? "" : path.substr(0, dot));
  if (section != open && !section.empty()) out += fmt::format("{}{}:\n", indent, section);
  open = section;
  out += fmt::format("{}{}{}: {}\n", indent, section.empty() ? "" : "  ",
                     dot == std::string_view::npos ? path : path.substr(dot + 1), value);
}

void write_sources(std::string& out, const Job& job) {
  out += "sources:\n";
  for (std::size_t i = 0; i < job.sources.size(); ++i) {
    std::string item;
    std::string open;
    for (const Key& key : job_keys()) {
      if (!key.path.starts_with(kSource)) continue;
      const std::string value = key.get(job, i);
      if (!value.empty()) {
        write_key(item, "    ", open, std::string_view(key.path).substr(kSource.size()), value);
      }
    }
    item[2] = '-';  // the first key of a list's item
    out += item;
  }
}

}  // namespace

std::string effective_yaml(const Job& job) {
  std::string out;
  std::string open;
  bool sources = false;
  for (const Key& key : job_keys()) {
    if (key.path.starts_with(kSource)) {
      if (!sources && !job.sources.empty()) write_sources(out, job);
      sources = true;
      continue;
    }
    const std::string value = key.get(job, 0);
    if (!value.empty()) write_key(out, "", open, key.path, value);
  }
  return out;
}

}  // namespace packline

#include <fmt/format.h>

#include "launcher/commands.h"

namespace packline {

bool load_or_complain(const JobOption& option, Job& job) {
  LoadedJob loaded = load_job(option.file, option.sets);
  for (const Mistake& m : loaded.mistakes) fmt::print(stderr, "{}\n", m.line_text());
  job = std::move(loaded.job);
  return loaded.mistakes.empty();
}

int complain(const Error& error) {
  fmt::print(stderr, "packline: {}\n", error.text);
  return static_cast<int>(error.code);
}

}  // namespace packline

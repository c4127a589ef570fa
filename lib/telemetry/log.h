#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/instant.h"

// Sentences on stderr, one a line. The only user of spdlog.

namespace packline::log {

enum class Format : std::uint8_t { kText, kJson };
std::string_view name_of(Format f);  // text, json
enum class Level : std::uint8_t { kInfo, kWarning, kError };

// Who speaks; stands in every line.
struct Speaker {
  std::string job;   // its name
  std::string role;  // "producer"
  int index = -1;    // below 0: none, as for a packer
};

// Once, in main, before threads start. Before it, lines have no speaker and are text.
//   text   2026-03-01T12:00:00.123 info  sink-3: the sentence
//   json
//   {"time":"2026-03-01T12:00:00.123+01:00","level":"info","job":...,"role":...,"index":...,"text":...}
void configure(Format format, const Speaker& speaker);

// From any thread. A text of several lines is told as one.
void write(Level level, std::string_view text);

template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

// Lets a sentence through once per key and period. Keys are of the code, never of what arrives:
// each is remembered.
class Limit {
 public:
  explicit Limit(Duration every) : every_(every) {}

  // Nothing: say nothing. Else how many were held back since the key last spoke.
  std::optional<std::uint64_t> pass(const std::string& key, Instant now);

 private:
  struct Entry {
    Instant spoke;
    std::uint64_t held_back = 0;
  };
  Duration every_;
  std::map<std::string, Entry> entries_;
};

// A warning that comes at most once per key and period, and says how many were held back.
template <typename... Args>
void warning_once(Limit& limit, const std::string& key, Instant now,
                  fmt::format_string<Args...> format, Args&&... args) {
  const auto held_back = limit.pass(key, now);
  if (!held_back) return;
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  write(Level::kWarning,
        *held_back == 0 ? text : fmt::format("{} (and {} more like it)", text, *held_back));
}

}  // namespace packline::log

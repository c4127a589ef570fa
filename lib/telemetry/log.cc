#include "lib/telemetry/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "lib/telemetry/json_dump.h"

namespace packline::log {
namespace {

struct State {
  Format format = Format::kText;
  std::shared_ptr<spdlog::logger> logger;
};

std::string json_text(const std::string& s) { return dump_json(s); }

// A literal part of a pattern.
std::string literal(const std::string& s) {
  std::string out;
  for (const char c : s) {
    out += c;
    if (c == '%') out += '%';
  }
  return out;
}

std::string pattern(Format format, const Speaker& who) {
  if (format == Format::kText) {
    std::string name = who.role;
    if (who.index >= 0) name += fmt::format("-{}", who.index);
    if (!name.empty()) name += ": ";
    return "%Y-%m-%dT%H:%M:%S.%e %-7l " + literal(name) + "%v";
  }
  return "{\"time\":\"%Y-%m-%dT%H:%M:%S.%e%z\",\"level\":\"%l\"," +
         literal(fmt::format("\"job\":{},\"role\":{},\"index\":{}", json_text(who.job),
                             json_text(who.role),
                             who.index >= 0 ? std::to_string(who.index) : "null")) +
         ",\"text\":%v}";
}

State made(Format format, const Speaker& who) {
  State s{format, std::make_shared<spdlog::logger>(
                      "packline", std::make_shared<spdlog::sinks::stderr_sink_mt>())};
  s.logger->set_pattern(pattern(format, who));
  s.logger->set_level(spdlog::level::info);
  s.logger->flush_on(spdlog::level::info);
  s.logger->set_error_handler([](const std::string&) {});  // stderr is gone: nobody to tell
  return s;
}

State& state() {
  static State s = made(Format::kText, {});
  return s;
}

spdlog::level::level_enum level_of(Level level) {
  switch (level) {
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

std::string_view name_of(Format f) { return f == Format::kJson ? "json" : "text"; }

void configure(Format format, const Speaker& speaker) { state() = made(format, speaker); }

void write(Level level, std::string_view text) {
  State& s = state();
  std::string line(text);
  if (s.format == Format::kJson) {
    line = json_text(line);
  } else {
    std::replace(line.begin(), line.end(), '\n', ' ');
  }
  s.logger->log(level_of(level), "{}", line);
}

std::optional<std::uint64_t> Limit::pass(const std::string& key, Instant now) {
  const auto known = entries_.find(key);
  if (known != entries_.end()) {
    Entry& e = known->second;
    if (now - e.spoke < every_) {
      ++e.held_back;
      return std::nullopt;
    }
    e.spoke = now;
    return std::exchange(e.held_back, 0);
  }
  entries_[key] = {now, 0};
  return 0;
}

}  // namespace packline::log

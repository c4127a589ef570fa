#include "lib/app/wait_log.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace packline {
namespace {

constexpr std::size_t kToldInFull = 3;  // of many alike ("sink 0" to "sink 63") the first will do

}  // namespace

std::optional<WaitLog::Sentence> WaitLog::due(const std::vector<Wait>& waits, Instant now) {
  std::map<std::string, Instant> lasting;
  Sentence said;
  std::size_t more = 0, due = 0;
  for (const Wait& w : waits) {
    const Duration since = std::chrono::milliseconds(w.since_ms);
    if (since < after_) continue;
    const auto before = told_.find(w.whom);
    const bool told = before != told_.end() && before->second > now - since;
    if (told && (w.ordinary || now - before->second < after_)) {
      lasting[w.whom] = before->second;
      continue;
    }
    lasting[w.whom] = now;
    said.ordinary = said.ordinary && w.ordinary;
    if (++due > kToldInFull) {
      ++more;
      continue;
    }
    said.text += fmt::format("{}waits for {} from {} since {}", due == 1 ? "" : "; ", w.what,
                             w.whom, in_words_ms(w.since_ms));
  }
  told_ = std::move(lasting);
  if (due == 0) return std::nullopt;
  if (more > 0) said.text += fmt::format("; and {} more", more);
  return said;
}

}  // namespace packline

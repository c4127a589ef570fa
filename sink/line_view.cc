#include "sink/line_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace packline {
namespace {

// A notice this old is told with its age.
constexpr Duration kFresh = std::chrono::milliseconds(1500);
constexpr Duration kSilent = std::chrono::seconds(3);

std::string connected(const Notice& n) { return fmt::format("{} connected", n.packers); }

std::string age(std::uint64_t ms, Duration since_notice) {
  return in_words_ms(ms + static_cast<std::uint64_t>(to_ms(since_notice)));
}

}  // namespace

LineView::LineView(std::uint32_t producers, std::uint32_t dp_rank, std::uint32_t window_credit,
                   Instant started)
    : dp_rank_(dp_rank),
      window_credit_(window_credit),
      producers_(producers, Entry{std::nullopt, started, false}) {}

void LineView::on_notice(const Notice& n, Instant now) {
  if (n.producer >= producers_.size()) return;
  Entry& e = producers_[n.producer];
  e.finished |= n.finished;
  e.notice = n;
  e.notice->identity.clear();
  e.at = now;
}

bool LineView::all_finished() const { return std::ranges::all_of(producers_, &Entry::finished); }

Instant LineView::heard_any() const {
  return std::ranges::max_element(producers_, {}, &Entry::at)->at;
}

std::optional<std::pair<std::uint32_t, Duration>> LineView::silent_producer(Duration limit,
                                                                            Instant now) const {
  const auto it = std::ranges::min_element(
      producers_, {}, [](const Entry& e) { return std::pair(e.finished, e.at); });
  if (it->finished || now - it->at <= limit) return std::nullopt;
  return std::pair(static_cast<std::uint32_t>(it - producers_.begin()), now - it->at);
}

std::string LineView::about(const WindowKey& key, std::uint32_t lanes, Instant now) const {
  const std::uint32_t index = key.lane % static_cast<std::uint32_t>(producers_.size());
  const Entry& e = producers_[index];
  const Duration old = now - e.at;
  if (!e.notice)
    return fmt::format("producer {}, which makes it, has not been heard in {}: is it running?",
                       index, in_words(old));
  const Notice& n = *e.notice;
  if (old > kSilent)
    return fmt::format("producer {}, which makes it, has not been heard for {}", index,
                       in_words(old));
  const std::string who = old > kFresh
                              ? fmt::format("producer {} (last heard {} ago)", index, in_words(old))
                              : fmt::format("producer {}", index);
  const auto sent = std::ranges::find_if(
      n.sent, [&](const SentWindow& s) { return s.key == key && s.dp_rank == dp_rank_; });
  if (sent != n.sent.end()) {
    const auto gone = static_cast<std::uint64_t>(to_ms(old));
    const std::string lease = sent->lease_left_ms > gone
                                  ? "ends in " + in_words_ms(sent->lease_left_ms - gone)
                                  : std::string("has ended: it is about to be sent again");
    const std::string tries = sent->tries > 1 ? fmt::format(", for the {}. time", sent->tries) : "";
    return fmt::format("{} sent it {} ago to a packer ({}){}, its lease {}", who,
                       age(sent->age_ms, old), connected(n), tries, lease);
  }
  const auto lane = std::ranges::find(n.lanes, key.lane, &LaneNotice::lane);
  if (lane == n.lanes.end() || !lane->has_head)
    return fmt::format("{} has not heard yet what any sink wants: can the sinks reach it?", who);
  if (std::tie(key.epoch, key.index) < std::tie(lane->epoch, lane->index)) {
    if (n.packers == 0)
      return fmt::format("it is ready at {}, but no packer is connected: start one", who);
    if (n.unsent_ms > 0)
      return fmt::format("it is ready at {}, but no packer has taken a window for {} ({})", who,
                         age(n.unsent_ms, old), connected(n));
    return fmt::format(
        "{} has it and is about to send it ({})", who,
        n.packers == 1 ? "1 packer connected" : fmt::format("{} packers connected", n.packers));
  }
  const std::uint64_t head = lane->index * lanes + key.lane;
  if (lane->held >= window_credit_ && n.slowest_rank) {
    const std::string silent =
        n.slowest_silent_ms > static_cast<std::uint64_t>(to_ms(kSilent))
            ? fmt::format(", whose sink has not reported for {}", age(n.slowest_silent_ms, old))
            : "";
    const std::string at =
        lane->index >= lane->held
            ? fmt::format(", which wants window {}", head - std::uint64_t{lane->held} * lanes)
            : "";
    return fmt::format(
        "{} cannot make it yet: all its credit ({} windows a lane) waits for dp_rank {}{}{}", who,
        window_credit_, *n.slowest_rank, at, silent);
  }
  const bool this_one = std::tie(key.epoch, key.index) == std::tie(lane->epoch, lane->index);
  const std::string which = this_one ? "it" : fmt::format("window {} of that lane", head);
  if (lane->refused)
    return fmt::format("{} cannot make {}, for some rank wants it at a place {}: {}", who, which,
                       lane->refused->gone ? "that is gone" : "of no such job",
                       lane->refused->text);
  if (lane->reading && !lane->waits_for.empty())
    return fmt::format("{}, which makes {}, has waited {} for {}", who, which,
                       age(lane->reading_ms, old), lane->waits_for);
  if (lane->reading) {
    const std::string encoding =
        n.encoding.empty() ? "" : fmt::format("; it waits for {}", n.encoding);
    return fmt::format("{} has been making {} for {}{}", who, which, age(lane->reading_ms, old),
                       encoding);
  }
  return fmt::format("{} is about to make {}", who, which);
}

}  // namespace packline

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/instant.h"
#include "lib/delivery/place.h"
#include "lib/delivery/role.h"
#include "lib/wire/messages.h"

namespace packline {

// What a sink knows of the producers from their notices, and the sentences of law L7 that follow.
class LineView {
 public:
  LineView(std::uint32_t producers, std::uint32_t dp_rank, std::uint32_t window_credit,
           Instant started);

  // Ignores a producer beyond those of the line.
  void on_notice(const Notice& n, Instant now);

  bool all_finished() const;
  Instant heard_any() const;  // the last notice; the start before the first
  // A producer not heard for longer than `limit`, the one silent for longest; and for how long.
  std::optional<std::pair<std::uint32_t, Duration>> silent_producer(Duration limit,
                                                                    Instant now) const;

  // Who makes the window, and what became of it: "producer 1 sent it 12 s ago to a packer (2
  // connected), its lease ends in 3 s".
  std::string about(const WindowKey& key, std::uint32_t lanes, Instant now) const;

 private:
  struct Entry {
    std::optional<Notice> notice;
    Instant at;
    bool finished = false;  // once said, it stays
  };
  std::uint32_t dp_rank_;
  std::uint32_t window_credit_;
  std::vector<Entry> producers_;
};

}  // namespace packline

#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sink/sink.h"

namespace packline {

inline Instant at_ms(int ms) { return Instant{std::chrono::milliseconds(ms)}; }

// Sink 1 of two ranks in a job of two lanes and three epochs; windows of 4 packs unless said
// otherwise, so two for this rank; two producers, one lane each.
struct Line {
  explicit Line(std::uint32_t peers = 1, std::uint32_t credit = 2)
      : sink(make(peers, credit), at_ms(0)) {}

  static SinkSettings make(std::uint32_t peers, std::uint32_t credit) {
    SinkSettings s;
    s.dp_rank = 1;
    s.ranks_per_dp_rank = peers;
    s.producers = 2;
    s.job = {77, 2, 3, 2};
    s.window_credit = credit;
    s.endpoint = "ipc:///s1";
    s.session = 9;
    s.welcome.capacity = 8192;
    return s;
  }

  static Cursor start() { return start_cursor({77, 2, 3, 2}); }

  // From a trainer rank; sessions count from 1, a higher one is later.
  Subscribe subscribe(Cursor want, std::uint32_t room = 4, std::uint32_t peer = 0,
                      std::uint64_t session = 1) {
    Subscribe s;
    s.envelope = {77, 2};
    s.dp_rank = 1;
    s.peer = peer;
    s.session = {0, session, 0};
    s.seq = ++seq;
    s.want = std::move(want);
    s.room = room;
    return s;
  }

  // Positions are "<epoch>.<index>" but for the start's "".
  static Slice slice(std::uint32_t lane, std::uint64_t epoch, std::uint64_t index,
                     std::uint32_t packs = 4, bool last = false) {
    Slice s;
    s.envelope = {77, 2};
    s.key = {lane, epoch, index};
    s.before = index == 0 ? "" : position(epoch, index);
    s.after = position(epoch, index + 1);
    s.last = last;
    s.packs = packs;
    s.dp_rank = 1;
    s.ledger.records_read = 10 + index;
    for (std::uint32_t k = 1; k < packs; k += 2) s.parts.push_back({100 + k, 1, 5, {}});
    return s;
  }

  static std::string position(std::uint64_t epoch, std::uint64_t index) {
    return std::to_string(epoch) + "." + std::to_string(index);
  }

  // Where a rank stands that was handed `pack` at `before`.
  static Cursor cursor_after(Cursor before, const Pack& pack) {
    before.point = pack.after;
    if (pack.lanes) before.lanes = *pack.lanes;
    return before;
  }

  Notice notice(std::uint32_t producer, bool finished = false) {
    Notice n;
    n.envelope = {77, 2};
    n.producer = producer;
    n.finished = finished;
    n.packers = 2;
    return n;
  }

  template <typename M>
  std::vector<M> told(const std::string& address = "a") {
    std::vector<M> all;
    for (SinkOutput& o : outputs())
      if (auto* t = std::get_if<ToTrainer>(&o))
        if (auto* m = std::get_if<M>(&t->message))
          if (t->address == address) all.push_back(std::move(*m));
    return all;
  }
  std::vector<Report> reports(std::uint32_t producer) {
    std::vector<Report> all;
    for (SinkOutput& o : outputs())
      if (auto* p = std::get_if<ToProducer>(&o))
        if (p->producer == producer) all.push_back(std::move(p->report));
    return all;
  }
  std::vector<SinkOutput> outputs() {
    for (SinkOutput& o : sink.take_outputs()) kept_.push_back(std::move(o));
    return kept_;
  }
  void forget() {
    sink.take_outputs();
    kept_.clear();
  }

  std::uint64_t seq = 0;
  Sink sink;

 private:
  std::vector<SinkOutput> kept_;
};

inline std::vector<StreamPoint> points(const std::vector<Pack>& packs) {
  std::vector<StreamPoint> at;
  for (const Pack& p : packs) at.push_back(p.at);
  return at;
}
using Points = std::vector<StreamPoint>;

}  // namespace packline

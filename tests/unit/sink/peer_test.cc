#include "sink/peer.h"

#include <doctest/doctest.h>

namespace packline {
namespace {

TEST_CASE("Peer: a new session begins with nothing of the old one's") {
  Peer p;
  p.become({0, 1, 0});
  CHECK(p.replaced.empty());
  p.done = p.end_sent = true;
  p.seq = 40;
  p.sent[{{0, 1, 0}, false}] = Instant{};
  p.become({0, 2, 0});
  CHECK(p.session == TrainerSession{0, 2, 0});
  CHECK_FALSE(p.done);
  CHECK_FALSE(p.end_sent);
  CHECK(p.sent.empty());
  CHECK(p.was_replaced({0, 1, 0}));
  CHECK_FALSE(p.was_replaced({0, 2, 0}));
}

TEST_CASE("Peer: of sessions replaced the latest 64 are remembered") {
  Peer p;
  for (std::uint64_t i = 0; i < 100; ++i) p.become({0, i, 0});
  CHECK(p.replaced.size() == 64);
  CHECK_FALSE(p.was_replaced({0, 34, 0}));
  CHECK(p.was_replaced({0, 35, 0}));
  CHECK(p.was_replaced({0, 98, 0}));
}

}  // namespace
}  // namespace packline

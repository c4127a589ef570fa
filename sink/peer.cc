#include "sink/peer.h"

#include <algorithm>

namespace packline {
namespace {

constexpr std::size_t kReplacedKept = 64;

}  // namespace

bool Peer::was_replaced(const TrainerSession& s) const {
  return std::ranges::find(replaced, s) != replaced.end();
}

void Peer::become(const TrainerSession& s) {
  if (session) replaced.push_back(*session);
  if (replaced.size() > kReplacedKept) replaced.pop_front();
  session = s;
  seq = 0;
  done = false;
  end_sent = false;
  progress = {};
  sent.clear();
  starving_since.reset();
}

}  // namespace packline

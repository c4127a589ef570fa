#include "tests/simulation/training.h"

#include <fmt/format.h>

#include <algorithm>

namespace packline::simulation {
namespace {

constexpr std::uint64_t kNamedAfterMs = 5000;

SubscriberSettings rank_settings(World& w, std::uint32_t rank, std::uint32_t peer, Run run,
                                 const Cursor& begin) {
  SubscriberSettings s;
  s.dp_rank = rank;
  s.dp_size = run.dp_size;
  s.peer = peer;
  s.session = w.new_session();
  s.room = w.room;
  s.endpoint = fmt::format("sink {}", rank);
  s.begin = begin;
  s.job = w.reference.shape(run.dp_size).fingerprint;
  s.times = w.times;
  return s;
}

std::string named(const StreamPoint& p) {
  return fmt::format("{}.{}.{}", p.epoch, p.window, p.pack);
}

}  // namespace

TrainerRank::TrainerRank(World& w, std::uint32_t r, std::uint32_t p, Run run, const Cursor& begin,
                         int a)
    : Process(w, a, fmt::format("rank {}/{} @{}", r, p, a)),
      rank(r),
      peer(p),
      machine(rank_settings(w, r, p, run, begin), w.instant()) {}

bool TrainerRank::current() const {
  const auto it = world.training->ranks.find({rank, peer});
  return it != world.training->ranks.end() && it->second == this;
}

void TrainerRank::act() {
  for (Subscribe& s : machine.take_outputs()) {
    world.check(s.room <= world.room,
                [&] { return name + " says it has more room than it ever had"; });
    world.send(address, world.address_of_sink(rank), std::move(s));
  }
}

void TrainerRank::receive(const Post& m, int) {
  machine.on_message(*m, world.instant());
  act();
  if (machine.exit()) return fail_or_leave();
  if (!cut_off) world.training->ready();
}

void TrainerRank::fail_or_leave() {
  const Exit& e = *machine.exit();
  const auto says = [&](const char* what) { return e.text.find(what) != std::string::npos; };
  const bool unreleased = e.code == ExitCode::kDone && says("did not release");
  if (unreleased && !cut_off && world.training->over_at > world.quiet && !world.end_untold)
    throw Failure{fmt::format("end: {} was not released", name)};
  // A zombie with a fast clock can take over from a rank that has said done. Then nobody can know
  // that all are done; a launcher's restart count, which comes first in a session, prevents it.
  world.end_untold |= unreleased || (world.training->over && !cut_off && says("has taken over"));
  const bool mine = !cut_off && current();
  quit(e.code, e.text);
  if (mine && e.code != ExitCode::kDone) world.training->crash(true);
}

// Law L7: "Any process that waits can say for what, for whom, and since when."
void TrainerRank::check_named() const {
  const auto wait = machine.wait(world.instant());
  if (!wait || world.now < world.quiet + static_cast<std::int64_t>(kNamedAfterMs) ||
      wait->since_ms < kNamedAfterMs || machine.state() != SubscriberState::kReceiving)
    return;
  world.check(wait->what.find("misses window") != std::string::npos ||
                  wait->what.find("has not answered") != std::string::npos,
              [&] { return fmt::format("{} waits without a name: {}", name, wait->what); });
}

void TrainerRank::tick() {
  machine.tick(world.instant());
  act();
  if (machine.exit()) return fail_or_leave();
  if (!cut_off) check_named();
  tick_later();
}

Training::Training(World& w, Run r) : run(r), world_(w) {
  every_ = static_cast<std::uint64_t>(w.dice.between(1, 6));
  checkpoints.push_back({start_cursor(w.reference.shape(r.dp_size)), 0, {}});
  start();
}

void Training::start() {
  ++generation_;
  begun_ = checkpoints.back();
  if (checkpoints.size() > 2 && world_.dice.chance(0.15)) {
    const auto back = static_cast<std::size_t>(world_.dice.between(
        2, std::min<std::int64_t>(4, static_cast<std::int64_t>(checkpoints.size()))));
    const Checkpoint& old = checkpoints[checkpoints.size() - back];
    if (old.cursor.point.pack % run.dp_size == 0) {
      begun_ = old;
      ++world_.counts["restart from an older checkpoint"];
    }
  }
  taken = begun_.taken;
  steps_ = 0;
  busy_ = dead = false;
  saves_.clear();
  for (std::uint32_t r = 0; r < run.dp_size; ++r) {
    for (std::uint32_t p = 0; p < world_.peers; ++p) {
      auto rank =
          std::make_unique<TrainerRank>(world_, r, p, run, begun_.cursor, world_.new_address());
      ranks[{r, p}] = rank.get();
      world_.processes.push_back(std::move(rank));
    }
  }
}

void Training::ready() {
  if (dead || busy_ || over) return;
  bool packs = true, ended = true;
  for (const auto& [id, r] : ranks) {
    if (!r->machine.ready()) {
      world_.check(!r->machine.take(world_.instant()),
                   [&] { return "a pack from a rank that has none"; });
      r->act();
    }
    packs = packs && r->machine.ready();
    ended = ended && r->machine.ended();
  }
  if (!packs && !ended) return;
  busy_ = true;
  const std::uint64_t g = generation_;
  if (packs)
    world_.at(world_.now + world_.dice.between(1, world_.step_ms), nullptr, [this, g] { step(g); });
  else
    world_.at(world_.now + world_.dice.between(5, 60), nullptr, [this, g] { finish(g); });
}

void Training::check_pack(const TrainerRank& r, const Pack& p) const {
  const auto& stream = world_.reference.stream();
  const std::uint64_t n = taken + r.rank;
  const bool right = n < stream.size() && p.at == stream[n].at && p.body.digest == stream[n].digest;
  world_.check(right, [&] {
    return fmt::format("wrong pack: {} wants {}, got {} ({:016x})", r.name,
                       n < stream.size() ? named(stream[n].at) : "the end", named(p.at),
                       p.body.digest);
  });
}

void Training::step(std::uint64_t generation) {
  if (generation != generation_ || dead) return;
  std::int64_t stalled = 0;
  for (const auto& [id, r] : ranks) stalled = std::max(stalled, r->stalled_until);
  if (stalled > world_.now) {
    world_.at(stalled, nullptr, [this, generation] { step(generation); });
    return;
  }
  const TrainerRank* first = ranks.begin()->second;
  for (const auto& [id, r] : ranks) {
    const auto pack = r->machine.take(world_.instant());
    world_.check(pack.has_value(), [&] { return r->name + " was ready and gave no pack"; });
    r->act();
    check_pack(*r, *pack);
    world_.check(*r->machine.cursor() == *first->machine.cursor(),
                 [&] { return "cursors of one step differ"; });
    world_.check(r->machine.progress().total.ledger == first->machine.progress().total.ledger,
                 [&] { return "ledgers of one step differ"; });
  }
  taken += run.dp_size;
  ++steps_;
  busy_ = false;
  if (steps_ % every_ == 0) {
    const Checkpoint c{*first->machine.cursor(), taken, told()};
    const std::uint64_t tag = taken;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      world_.at(world_.now + world_.dice.between(1, 120), nullptr,
                [this, generation, tag, c] { saved(generation, tag, c); });
  }
  ready();
}

// A checkpoint is complete when every rank has saved its part.
void Training::saved(std::uint64_t generation, std::uint64_t tag, const Checkpoint& c) {
  if (generation != generation_ || dead) return;
  if (++saves_[tag] == ranks.size() && c.taken >= checkpoints.back().taken)
    checkpoints.push_back(c);
}

std::map<std::uint64_t, Tally> Training::told() const {
  std::map<std::uint64_t, Tally> sum = begun_.told;
  for (const auto& [id, r] : ranks) {
    if (id.second != 0) continue;
    for (const EpochTally& e : r->machine.progress().epochs) {
      Tally t = e.tally;
      if (id.first != 0) t.ledger = {};
      sum[e.epoch] += t;
    }
  }
  return sum;
}

// The last checkpoint is safe now, and only now are the ranks done.
void Training::finish(std::uint64_t generation) {
  if (generation != generation_ || dead) return;
  const Reference& ref = world_.reference;
  world_.check(taken == ref.stream().size(), [&] {
    return fmt::format("ended after {} of {} packs", taken, ref.stream().size());
  });
  // Law L4: the ledgers are exact however often a window was made.
  const auto sum = told();
  for (const auto& [epoch, t] : ref.tallies()) {
    const auto it = sum.find(epoch);
    const Tally got = it == sum.end() ? Tally{} : it->second;
    world_.check(got == t, [&] {
      return fmt::format("epoch {}: told {} packs and {} records read, the job has {} and {}",
                         epoch, got.packs, got.ledger.records_read, t.packs, t.ledger.records_read);
    });
  }
  for (const auto& [id, r] : ranks)
    world_.check(r->machine.progress().total.ledger ==
                     ranks.begin()->second->machine.progress().total.ledger,
                 [&] { return r->name + " was told other ledgers than the first rank"; });
  over = true;
  over_at = world_.now;
  for (const auto& [id, r] : ranks) {
    r->machine.finish(world_.instant());
    r->act();
  }
}

void Training::crash(bool restart) {
  if (dead || over) return;
  ++world_.counts["trainer crash"];
  dead = true;
  const bool zombies = world_.dice.chance(0.3);
  for (const auto& [id, r] : ranks) {
    if (zombies && !r->dead && world_.dice.chance(0.6)) {
      ++world_.counts["zombie trainer"];
      TrainerRank* z = r;
      z->cut_off = true;
      z->stalled_until = std::max(z->stalled_until, world_.now + world_.dice.between(0, 2500));
      world_.at(world_.now + world_.dice.of<std::int64_t>({2500, 6000, 45000}), nullptr,
                [z] { z->dead = true; });
    } else {
      r->dead = true;
    }
  }
  if (restart)
    world_.at(world_.now + world_.dice.between(20, 1500), nullptr, [this, g = generation_] {
      if (g == generation_) start();
    });
}

void Training::resume_at(Run r, std::size_t checkpoint) {
  ++generation_;
  ranks.clear();
  run = r;
  const Checkpoint c = checkpoints[checkpoint];
  std::erase_if(checkpoints, [&](const Checkpoint& x) { return x.taken >= c.taken; });
  checkpoints.push_back(c);
  world_.at(world_.now + world_.dice.between(20, 800), nullptr, [this, g = generation_] {
    if (g == generation_) start();
  });
}

}  // namespace packline::simulation

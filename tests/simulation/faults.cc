// What goes wrong, and when.

#include <fmt/format.h>

#include <algorithm>

#include "tests/simulation/roles.h"
#include "tests/simulation/training.h"
#include "tests/simulation/world.h"

namespace packline::simulation {
namespace {

enum class Kind {
  kProducer,
  kPacker,
  kSink,
  kTrainer,
  kStall,
  kPartition,
  kTwinSink,
  kTwinProducer,
  kHost
};

const char* name_of(Kind k) {
  switch (k) {
    case Kind::kProducer:
      return "a producer is killed";
    case Kind::kPacker:
      return "a packer is killed";
    case Kind::kSink:
      return "a sink is killed";
    case Kind::kTrainer:
      return "the trainer crashes";
    case Kind::kStall:
      return "a process is stopped for a while";
    case Kind::kPartition:
      return "the network is cut in two";
    case Kind::kTwinSink:
      return "a sink is replaced while it lives";
    case Kind::kTwinProducer:
      return "a producer is replaced while it lives";
    case Kind::kHost:
      return "a host is lost";
  }
  return "?";
}

}  // namespace

void World::plan_faults() {
  const int n = dice.of({0, 1, 2, 4, 8, 12});
  for (int i = 0; i < n; ++i) at(dice.between(0, quiet), nullptr, [this] { fault(); });
  if (dice.chance(0.35)) at(dice.between(100, quiet), nullptr, [this] { other_dp_size(); });
}

std::vector<Process*> World::alive() const {
  std::vector<Process*> all;
  for (const auto& p : processes)
    if (!p->dead) all.push_back(p.get());
  return all;
}

void World::fault() {
  const Kind kind = dice.of({Kind::kProducer, Kind::kPacker, Kind::kSink, Kind::kTrainer,
                             Kind::kStall, Kind::kPartition, Kind::kTwinSink, Kind::kTwinProducer,
                             Kind::kTrainer, Kind::kHost});
  ++counts[fmt::format("fault: {}", name_of(kind))];
  trace([&] { return fmt::format("FAULT {}", name_of(kind)); });
  const auto any = [&](std::uint32_t n) {
    return static_cast<std::uint32_t>(dice.between(0, n - 1));
  };
  const bool host = kind == Kind::kHost;
  if (host || kind == Kind::kProducer) kill(producers.at(any(n_producers)));
  if (host || kind == Kind::kPacker) kill(packers.at(any(n_packers)));
  if (host || kind == Kind::kSink) kill(sinks.at(any(training->run.dp_size)));
  if (kind == Kind::kTrainer) training->crash(true);
  if (kind == Kind::kTwinSink || kind == Kind::kTwinProducer) twin(kind == Kind::kTwinSink);
  auto living = alive();
  if (living.empty()) return;
  if (kind == Kind::kStall) dice.of(living)->stalled_until = now + dice.between(100, 3500);
  if (kind == Kind::kPartition) {
    dice.mix(living);
    const auto n =
        dice.between(1, std::max<std::int64_t>(1, static_cast<std::int64_t>(living.size()) / 2));
    Partition cut{{}, now + dice.between(100, 3000)};
    for (std::int64_t i = 0; i < n; ++i)
      cut.cut.insert(living[static_cast<std::size_t>(i)]->address);
    partitions_.push_back(std::move(cut));
  }
}

// A replacement starts while the old one is only cut off.
void World::twin(bool sink) {
  Process* old = sink ? static_cast<Process*>(sinks.at(
                            static_cast<std::uint32_t>(dice.between(0, training->run.dp_size - 1))))
                      : producers.at(static_cast<std::uint32_t>(dice.between(0, n_producers - 1)));
  if (old->dead) return;
  partitions_.push_back({{old->address}, now + dice.between(0, 1500)});
  if (const auto* s = dynamic_cast<SinkProcess*>(old)) start_sink(s->rank, s->run, true);
  if (const auto* p = dynamic_cast<ProducerProcess*>(old)) start_producer(p->index, p->run, true);
}

void World::kill(Process* p) {
  if (p->dead) return;
  p->dead = true;
  at(now + dice.between(5, 1500), nullptr, [this, p] { restart(p); });
}

void World::restart(Process* p) {
  const bool move = dice.chance(0.25);
  if (!p->current()) return;
  if (const auto* k = dynamic_cast<PackerProcess*>(p)) start_packer(k->index);
  if (const auto* x = dynamic_cast<ProducerProcess*>(p)) start_producer(x->index, x->run, move);
  if (const auto* s = dynamic_cast<SinkProcess*>(p)) start_sink(s->rank, s->run, move);
}

// The job stops and goes on at another dp_size; packers live on, and some of the old sinks and
// producers do for a while.
void World::other_dp_size() {
  Training& t = *training;
  if (t.over || t.dead) return;
  std::vector<std::pair<std::size_t, std::uint32_t>> fits;
  const std::size_t n = t.checkpoints.size();
  for (std::size_t i = n - std::min<std::size_t>(n, 6); i < n; ++i)
    for (const std::uint32_t d : {1u, 2u, 3u, 4u, 6u})
      if (d != t.run.dp_size && reference.dp_size_multiple % d == 0 &&
          t.checkpoints[i].cursor.point.pack % d == 0)
        fits.emplace_back(i, d);
  if (fits.empty()) {
    ++counts["no other dp_size fits"];
    return;
  }
  const auto [checkpoint, d] = dice.of(fits);
  t.crash(false);
  ++counts["resumed at another dp_size"];
  const std::uint32_t was = t.run.dp_size;
  trace([&, to = d] { return fmt::format("FAULT dp_size {} -> {}", was, to); });
  const Run run{d};
  std::vector<Process*> old;
  for (const auto& [i, p] : sinks) old.push_back(p);
  for (const auto& [i, p] : producers) old.push_back(p);
  for (Process* p : old) {
    if (dice.chance(0.4))
      at(now + dice.between(200, 4000), nullptr, [p] { p->dead = true; });
    else
      p->dead = true;
  }
  sinks.clear();
  for (std::uint32_t r = 0; r < d; ++r) start_sink(r, run);
  for (std::uint32_t i = 0; i < n_producers; ++i) start_producer(i, run);
  t.resume_at(run, checkpoint);
}

}  // namespace packline::simulation

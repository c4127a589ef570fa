#include "tests/simulation/world.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/check.h"
#include "tests/simulation/roles.h"
#include "tests/simulation/training.h"

namespace packline::simulation {
namespace {

constexpr std::int64_t kTrainBound = 15000;
constexpr std::int64_t kLiveBound = 240000;
constexpr std::uint64_t kEventBound = 600000;
constexpr std::uint32_t kPackerQueue = 4;

constexpr auto later = [](const auto& a, const auto& b) {
  return a.t != b.t ? a.t > b.t : a.n > b.n;
};

}  // namespace

Process::Process(World& w, int a, std::string n)
    : world(w), address(a), name(std::move(n)), born(w.now) {
  world.settle_at(address, this);
  world.at(world.now + world.dice.between(1, 200), this, [this] { tick(); });
}

void Process::tick_later() {
  ++ticks_;
  world.at(world.now + 200, this, [this] { tick(); });
}

void Process::quit(ExitCode code, const std::string& why) {
  world.trace([&] { return fmt::format("{} exits {}: {}", name, static_cast<int>(code), why); });
  dead = true;
  const Training& t = *world.training;
  const bool counts = current();
  world
      .counts[fmt::format("exit {}{}", static_cast<int>(code), counts ? "" : " of one replaced")]++;
  if (counts && code != ExitCode::kDone && t.over && born < t.over_at && t.over_at > world.quiet &&
      !world.end_untold)
    throw Failure{fmt::format("end: {} did not learn of the end: {}", name, why)};
}

World::World(std::uint64_t s, bool faults, bool trace)
    : seed(s), dice(s), reference(dice), trace_(trace) {
  times.lease = std::chrono::milliseconds(800);
  times.fail_after = std::chrono::seconds(60);
  n_producers = static_cast<std::uint32_t>(dice.between(1, std::min(3u, reference.lanes)));
  n_packers = static_cast<std::uint32_t>(dice.between(1, 3));
  credit = dice.of<std::uint32_t>({1, 2, 2, 3});
  room = dice.of<std::uint32_t>({1, 2, 4});
  peers = dice.of<std::uint32_t>({1, 1, 1, 2});
  quiet = faults ? dice.between(500, 7000) : 0;
  const auto packs = static_cast<std::int64_t>(reference.stream().size());
  const double pace = 0.2 + dice.unit();
  step_ms = !faults ? 10
                    : std::clamp<std::int64_t>(
                          static_cast<std::int64_t>(
                              2.0 * static_cast<double>(quiet) * pace /
                              static_cast<double>(std::max<std::int64_t>(1, packs / 2))),
                          3, 400);
  if (faults) {
    loss_ = dice.of({0.0, 0.0, 0.02, 0.1});
    twice_ = dice.of({0.0, 0.05, 0.2});
    slow_ = dice.of({0.0, 0.02, 0.1});
  }
  read_ms = dice.chance(1.0 / 9) ? std::pair<std::int64_t, std::int64_t>(100, 400)
                                 : std::pair<std::int64_t, std::int64_t>(2, 12);
  pack_ms = dice.chance(1.0 / 9)
                ? std::pair<std::int64_t, std::int64_t>(200, 1200)  // beyond the lease
                : std::pair<std::int64_t, std::int64_t>(3, 25);
  bound_ = kTrainBound + step_ms * packs +
           2 * static_cast<std::int64_t>(reference.windows()) * (read_ms.second + pack_ms.second);
  std::vector<std::uint32_t> sizes;
  for (const std::uint32_t d : {1u, 2u, 3u, 4u})
    if (reference.dp_size_multiple % d == 0) sizes.push_back(d);
  const Run run{dice.of(sizes)};
  for (std::uint32_t i = 0; i < n_producers; ++i) start_producer(i, run);
  for (std::uint32_t i = 0; i < n_packers; ++i) start_packer(i);
  for (std::uint32_t r = 0; r < run.dp_size; ++r) start_sink(r, run);
  training = std::make_unique<Training>(*this, run);
  if (faults) plan_faults();
}

World::~World() = default;

void World::at(std::int64_t t, Process* who, std::function<void()> what) {
  heap_.push_back({t, ++n_, who, std::move(what)});
  std::ranges::push_heap(heap_, later);
}

int World::new_address() {
  directory_.push_back(nullptr);
  return static_cast<int>(directory_.size()) - 1;
}

void World::send(int from, int to, Message m) {
  send(from, to, std::make_shared<const Message>(std::move(m)));
}

// One connection keeps its order; the faults do not.
void World::send(int from, int to, Post m, std::shared_ptr<void> guard) {
  std::int64_t& last =
      in_order_[static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to)];
  std::int64_t arrives = std::max(last, now + dice.between(1, 4));
  last = arrives;
  if (now < quiet) {
    for (const Partition& p : partitions_) {
      if (p.until <= now || p.cut.contains(from) == p.cut.contains(to)) continue;
      if (dice.chance(0.6)) {
        ++counts["lost in a partition"];
        return;
      }
      arrives += p.until - now;
    }
    if (dice.chance(loss_)) {
      ++counts["message lost"];
      return;
    }
    if (dice.chance(slow_)) arrives += dice.between(20, 2500);
    if (dice.chance(twice_)) {
      at(arrives + dice.between(0, 1500), nullptr,
         [this, from, to, m, guard] { deliver(from, to, m, guard); });
    }
  }
  at(arrives, nullptr, [this, from, to, m, guard] { deliver(from, to, m, guard); });
}

void World::deliver(int from, int to, const Post& m, const std::shared_ptr<void>& guard) {
  Process* p = at_address(to);
  if (p == nullptr || p->dead) {
    ++counts["arrived at nobody"];
  } else if (p->stalled_until > now) {
    at(p->stalled_until, nullptr, [this, from, to, m, guard] { deliver(from, to, m, guard); });
  } else {
    trace([&] { return fmt::format("{} <- {}", p->name, describe(*m)); });
    p->receive(m, from);
  }
}

// PUSH: a round robin that ignores load; one that has just died may still accept; false when every
// pipe is full.
bool World::to_packer(int from, const Window& w) {
  std::vector<PackerProcess*> order;
  for (const auto& [i, p] : packers) order.push_back(p);
  dice.mix(order);
  for (PackerProcess* p : order) {
    if (p->dead && (p->left || dice.chance(0.7))) continue;
    if (p->queued >= kPackerQueue) continue;
    ++p->queued;
    std::shared_ptr<void> guard(nullptr, [p](void*) { --p->queued; });
    send(from, p->address, std::make_shared<const Message>(w), std::move(guard));
    return true;
  }
  return false;
}

int World::place(char kind, std::uint32_t i, bool move) {
  const auto it = where_.find({kind, i});
  const Process* old = it == where_.end() ? nullptr : at_address(it->second);
  if (it != where_.end() && !move && (old == nullptr || old->dead)) return it->second;
  return where_[{kind, i}] = new_address();
}

void World::start_producer(std::uint32_t i, Run run, bool move) {
  auto p = std::make_unique<ProducerProcess>(*this, i, run, place('P', i, move));
  producers[i] = p.get();
  processes.push_back(std::move(p));
}

void World::start_packer(std::uint32_t i) {
  auto p = std::make_unique<PackerProcess>(*this, i, new_address());
  packers[i] = p.get();
  processes.push_back(std::move(p));
}

void World::start_sink(std::uint32_t rank, Run run, bool move) {
  auto p = std::make_unique<SinkProcess>(*this, rank, run, place('S', rank, move));
  sinks[rank] = p.get();
  processes.push_back(std::move(p));
}

// One clock in twenty is wrong by up to 4 s.
TrainerSession World::new_session() {
  const std::int64_t skew = dice.chance(0.05) ? dice.between(-4000, 4000) : 0;
  return {0, static_cast<std::uint64_t>(10000 + now + skew), dice.bits()};
}

void World::note(const std::string& text) const { fmt::print("{:7d} {}\n", now, text); }

std::string World::state() const {
  std::string alive_now;
  for (const auto& p : processes)
    if (!p->dead) alive_now += (alive_now.empty() ? "" : ", ") + p->name;
  return fmt::format("at {} ms {} of {} packs, training over: {}, alive: {}", now, training->taken,
                     reference.stream().size(), training->over, alive_now);
}

void World::go() {
  while (!heap_.empty()) {
    std::ranges::pop_heap(heap_, later);
    Event e = std::move(heap_.back());
    heap_.pop_back();
    if (e.who != nullptr) {
      if (e.who->dead) continue;
      if (e.who->stalled_until > e.t) {
        at(e.who->stalled_until, e.who, std::move(e.what));
        continue;
      }
    }
    now = e.t;
    ++events;
    const bool late =
        (!training->over && now > quiet + bound_) || now > quiet + bound_ + kLiveBound;
    if (late || events > kEventBound) throw Failure{"liveness: " + state()};
    e.what();
  }
  if (!training->over) throw Failure{"liveness: all are gone before the end, " + state()};
}

}  // namespace packline::simulation

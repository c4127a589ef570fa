#include "tests/simulation/roles.h"

#include <fmt/format.h>

#include <map>

namespace packline::simulation {
namespace {

template <typename... F>
struct Cases : F... {
  using F::operator()...;
};
template <typename... F>
Cases(F...) -> Cases<F...>;

std::string text(const StreamPoint& p) {
  return fmt::format("{}.{}.{}", p.epoch, p.window, p.pack);
}
std::string text(const WindowKey& k) {
  return fmt::format("lane {} {}.{}", k.lane, k.epoch, k.index);
}

ProducerSettings producer_settings(World& w, std::uint32_t index, Run run) {
  ProducerSettings s;
  s.index = index;
  s.producers = w.n_producers;
  s.job = w.reference.shape(run.dp_size);
  s.window_credit = w.credit;
  s.session = w.dice.bits();
  s.times = w.times;
  return s;
}

PackerSettings packer_settings(World& w) {
  PackerSettings s;
  s.pack = w.reference.pack_settings();
  s.job = w.reference.shape(1);
  s.producers = w.n_producers;
  s.times = w.times;
  return s;
}

SinkSettings sink_settings(World& w, std::uint32_t rank, Run run, int address) {
  SinkSettings s;
  s.dp_rank = rank;
  s.ranks_per_dp_rank = w.peers;
  s.producers = w.n_producers;
  s.job = w.reference.shape(run.dp_size);
  s.window_credit = w.credit;
  s.endpoint = std::to_string(address);
  s.session = w.dice.bits() | 1;
  s.welcome.epochs = w.reference.epochs;
  s.times = w.times;
  return s;
}

}  // namespace

std::string describe(const Message& m) {
  return std::visit(
      Cases{[](const Window& x) {
              std::string to;
              for (const Destination& d : x.to) to += fmt::format(" {}", d.dp_rank);
              return fmt::format("Window {} packs {} last {} to{}", text(x.key), x.packs.size(),
                                 x.last, to);
            },
            [](const Slice& x) { return fmt::format("Slice {} packs {}", text(x.key), x.packs); },
            [](const Report& x) {
              std::string lanes, held;
              for (const auto& [lane, p] : x.lanes)
                lanes += fmt::format(" {}:{}.{}@{}", lane, p.epoch, p.index, p.position);
              for (const WindowKey& k : x.held) held += fmt::format(" ({})", text(k));
              return fmt::format("Report rank {} seq {} live {} done {} bye {} wants{} holds{}",
                                 x.dp_rank, x.seq, x.live, x.done, x.bye, lanes, held);
            },
            [](const Subscribe& x) {
              return fmt::format("Subscribe rank {} peer {} seq {} want {} room {} done {}",
                                 x.dp_rank, x.peer, x.seq, x.want ? text(x.want->point) : "?",
                                 x.room, x.done);
            },
            [](const Welcome&) { return std::string("Welcome"); },
            [](const Pack& x) {
              return fmt::format("Pack {} from {} after {}", text(x.at), text(x.from),
                                 text(x.after));
            },
            [](const End& x) {
              return fmt::format("End from {} cursor {} released {}", text(x.from),
                                 text(x.cursor.point), x.released);
            },
            [](const ErrorMessage& x) { return "Error " + x.text; },
            [](const Waiting& x) { return "Waiting " + x.text; },
            [](const Notice& x) {
              return fmt::format("Notice of producer {} finished {}", x.producer, x.finished);
            }},
      m);
}

ProducerProcess::ProducerProcess(World& w, std::uint32_t i, Run r, int a)
    : Process(w, a, fmt::format("producer {} @{}", i, a)),
      index(i),
      run(r),
      machine_(producer_settings(w, i, r), w.instant()) {}

bool ProducerProcess::current() const { return world.producers.at(index) == this; }

void ProducerProcess::receive(const Post& m, int) {
  if (const auto* r = std::get_if<Report>(m.get())) machine_.on_report(*r, world.instant());
  act();
}

void ProducerProcess::act() {
  for (const ReadRequest& r : machine_.take_reads(world.instant())) {
    world.check(world.reference.on_the_way(r.lane, r.place), [&] {
      return fmt::format("{} reads lane {} at {}.{} from position '{}', which is no place of it",
                         name, r.lane, r.place.epoch, r.place.index, r.place.position);
    });
    world.at(
        world.now + world.dice.between(world.read_ms.first, world.read_ms.second), this, [this, r] {
          if (machine_.wanted(r.ticket)) {
            machine_.on_window(r.ticket, world.reference.window(r.lane, r.place), world.instant());
            act();
          } else {
            machine_.on_window(r.ticket, {}, world.instant());
          }
        });
  }
  machine_.dispatch(world.instant(),
                    [this](const Window& w) { return world.to_packer(address, w); });
  if (machine_.blocked() && !retrying_) {
    retrying_ = true;
    world.at(world.now + 10, this, [this] { writable(); });
  }
}

void ProducerProcess::writable() {
  retrying_ = false;
  act();
}

void ProducerProcess::tick() {
  machine_.tick(world.instant());
  if (machine_.exit()) return quit(machine_.exit()->code, machine_.exit()->text);
  act();
  const auto post =
      std::make_shared<const Message>(machine_.notice(world.n_packers, world.instant()));
  for (const LaneNotice& l : std::get<Notice>(*post).lanes)
    world.check(l.held <= world.credit,
                [&] { return fmt::format("{} holds {} windows of a lane", name, l.held); });
  for (const auto& p : world.processes) {
    if (!p->dead && p->hears_notices()) world.send(address, p->address, post);
  }
  if (ticks_ % 8 == 0) machine_.waits(world.instant(), world.n_packers);
  tick_later();
}

PackerProcess::PackerProcess(World& w, std::uint32_t i, int a)
    : Process(w, a, fmt::format("packer {} @{}", i, a)),
      index(i),
      machine_(packer_settings(w), w.instant()) {}

bool PackerProcess::current() const { return world.packers.at(index) == this; }

void PackerProcess::receive(const Post& m, int) {
  if (const auto* n = std::get_if<Notice>(m.get())) return machine_.on_notice(*n, world.instant());
  if (!std::holds_alternative<Window>(*m)) return;
  busy_until_ = std::max(busy_until_, world.now) +
                world.dice.between(world.pack_ms.first, world.pack_ms.second);
  ++queued;
  std::shared_ptr<void> guard(nullptr, [this](void*) { --queued; });
  world.at(busy_until_, this, [this, m, guard] { pack(m); });
}

void PackerProcess::pack(const Post& window) {
  auto slices = machine_.on_window(std::get<Window>(*window), world.instant());
  world.check(slices.has_value(), [&] { return slices.error().text; });
  for (PackedSlice& s : *slices) world.send(address, std::stoi(s.endpoint), std::move(s.slice));
}

void PackerProcess::tick() {
  machine_.tick(world.instant());
  if (machine_.exit()) {
    left = true;
    return quit(machine_.exit()->code, machine_.exit()->text);
  }
  if (ticks_ % 8 == 0) machine_.waits(world.instant());
  tick_later();
}

SinkProcess::SinkProcess(World& w, std::uint32_t r, Run n, int a)
    : Process(w, a, fmt::format("sink {} @{}", r, a)),
      rank(r),
      run(n),
      machine_(sink_settings(w, r, n, a), w.instant()) {}

bool SinkProcess::current() const {
  const auto it = world.sinks.find(rank);
  return it != world.sinks.end() && it->second == this;
}

void SinkProcess::receive(const Post& m, int from) {
  if (const auto* s = std::get_if<Subscribe>(m.get()))
    machine_.on_subscribe(std::to_string(from), *s, world.instant());
  else if (const auto* x = std::get_if<Slice>(m.get()))
    machine_.on_slice(*x, world.instant());
  else if (const auto* n = std::get_if<Notice>(m.get()))
    machine_.on_notice(*n, world.instant());
  act();
}

void SinkProcess::check_report(const Report& r) {
  for (const auto& [lane, place] : r.lanes)
    world.check(world.reference.on_the_way(lane, place), [&] {
      return fmt::format("{} reports lane {} at {}.{} '{}', which is no place of it", name, lane,
                         place.epoch, place.index, place.position);
    });
  std::map<std::uint32_t, std::uint32_t> held;
  for (const WindowKey& k : r.held)
    world.check(++held[k.lane] <= world.credit,
                [&] { return name + " holds more slices of a lane than its credit"; });
}

void SinkProcess::act() {
  world.check(machine_.counters().slices_misfit == 0,
              [&] { return name + " was given a slice or a cursor of another stream"; });
  for (SinkOutput& out : machine_.take_outputs()) {
    if (auto* t = std::get_if<ToTrainer>(&out)) {
      world.send(address, std::stoi(t->address), std::move(t->message));
    } else {
      auto& p = std::get<ToProducer>(out);
      check_report(p.report);
      world.send(address, world.address_of_producer(p.producer), std::move(p.report));
    }
  }
}

void SinkProcess::tick() {
  machine_.tick(world.instant());
  act();
  if (machine_.exit()) return quit(machine_.exit()->code, machine_.exit()->text);
  if (ticks_ % 8 == 0) machine_.waits(world.instant());
  tick_later();
}

}  // namespace packline::simulation

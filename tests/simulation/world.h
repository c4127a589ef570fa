#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/base/instant.h"
#include "lib/delivery/times.h"
#include "lib/wire/messages.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/reference.h"

namespace packline::simulation {

class World;
class ProducerProcess;
class PackerProcess;
class SinkProcess;
class TrainerRank;
class Training;

using Post = std::shared_ptr<const Message>;  // a message on its way

// What a run found wrong: a sentence that begins with "safety", "liveness" or "end".
struct Failure {
  std::string text;
};

// A process of the line. It hears nothing while stalled (SIGSTOP) and nothing any more when dead;
// its memory goes with it.
class Process {
 public:
  Process(World& world, int address, std::string name);
  virtual ~Process() = default;
  virtual void receive(const Post& m, int from) = 0;
  virtual void tick() = 0;
  virtual bool current() const = 0;  // not replaced by another life
  virtual bool hears_notices() const { return false; }

  World& world;
  int address;
  std::string name;
  bool dead = false;
  std::int64_t stalled_until = 0;
  std::int64_t born;

 protected:
  void quit(ExitCode code, const std::string& why);
  void tick_later();
  std::uint64_t ticks_ = 0;
};

// One life of the line at one dp_size.
struct Run {
  std::uint32_t dp_size = 1;
};

// Virtual time, the network and its faults, and everybody in it. Milliseconds; one seed, one run.
class World {
 public:
  World(std::uint64_t seed, bool faults, bool trace);
  ~World();
  void go();  // throws Failure

  // Virtual time.
  std::int64_t now = 0;
  Instant instant() const { return Instant{std::chrono::milliseconds(now)}; }
  void at(std::int64_t t, Process* who, std::function<void()> what);

  // The network. `guard` lives as long as a copy of the message is on its way.
  void send(int from, int to, Message m);
  void send(int from, int to, Post m, std::shared_ptr<void> guard = nullptr);
  bool to_packer(int from, const Window& w);
  int new_address();
  Process* at_address(int a) const { return directory_[static_cast<std::size_t>(a)]; }
  void settle_at(int address, Process* p) { directory_[static_cast<std::size_t>(address)] = p; }

  // The line.
  void start_producer(std::uint32_t i, Run run, bool move = false);
  void start_packer(std::uint32_t i);
  void start_sink(std::uint32_t rank, Run run, bool move = false);
  int address_of_producer(std::uint32_t i) const { return where_.at({'P', i}); }
  int address_of_sink(std::uint32_t rank) const { return where_.at({'S', rank}); }
  TrainerSession new_session();

  // `what` makes the sentence, only when it is needed.
  template <typename F>
  void check(bool ok, F&& what) {
    if (!ok) throw Failure{"safety: " + std::string(what())};
  }
  void note(const std::string& text) const;
  std::string state() const;
  template <typename F>
  void trace(F&& text) const {
    if (trace_) note(text());
  }

  std::uint64_t seed;
  Dice dice;
  Reference reference;
  DeliveryTimes times;
  std::uint32_t n_producers, n_packers, credit, room, peers;
  std::int64_t quiet;  // no fault from then on
  std::int64_t step_ms;
  std::pair<std::int64_t, std::int64_t> read_ms, pack_ms;
  std::vector<std::unique_ptr<Process>> processes;
  std::map<std::uint32_t, ProducerProcess*> producers;
  std::map<std::uint32_t, PackerProcess*> packers;
  std::map<std::uint32_t, SinkProcess*> sinks;
  std::unique_ptr<Training> training;
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t events = 0;
  bool end_untold = false;  // a rank left or was shut out before its done had reached everybody

 private:
  struct Event {
    std::int64_t t;
    std::uint64_t n;
    Process* who;
    std::function<void()> what;
  };
  struct Partition {
    std::set<int> cut;
    std::int64_t until;
  };

  void deliver(int from, int to, const Post& m, const std::shared_ptr<void>& guard);
  int place(char kind, std::uint32_t i, bool move);
  // Faults (faults.cc).
  void plan_faults();
  void fault();
  void kill(Process* p);
  void restart(Process* p);
  void twin(bool sink);
  void other_dp_size();
  std::vector<Process*> alive() const;

  bool trace_;
  std::uint64_t n_ = 0;
  std::vector<Event> heap_;
  std::vector<Process*> directory_;
  std::map<std::pair<char, std::uint32_t>, int> where_;
  std::unordered_map<std::uint64_t, std::int64_t> in_order_;
  std::vector<Partition> partitions_;
  double loss_ = 0, twice_ = 0, slow_ = 0;
  std::int64_t bound_ = 0;
};

}  // namespace packline::simulation

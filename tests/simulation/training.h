#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/client/subscriber.h"
#include "tests/simulation/world.h"

namespace packline::simulation {

// One trainer rank's receiving thread: the production client machine.
class TrainerRank : public Process {
 public:
  TrainerRank(World& world, std::uint32_t rank, std::uint32_t peer, Run run, const Cursor& begin,
              int address);
  void receive(const Post& m, int from) override;
  void tick() override;
  bool current() const override;
  void act();

  const std::uint32_t rank, peer;
  Subscriber machine;
  bool cut_off = false;  // of a crashed training: still talks to its sink

 private:
  void check_named() const;
  void fail_or_leave();
};

// A complete checkpoint: the cursor, how many packs of the stream were taken before it, and what
// the ranks were told up to there.
struct Checkpoint {
  Cursor cursor;
  std::uint64_t taken = 0;
  std::map<std::uint64_t, Tally> told;  // by epoch; packs of all ranks, ledgers of one
};

// The training job: ranks in lock step, checkpoints, restarts of all ranks together.
class Training {
 public:
  Training(World& world, Run run);

  void start();
  void ready();  // a rank received something
  void crash(bool restart);
  // The job is stopped and goes on at this dp_size from one of the checkpoints.
  void resume_at(Run run, std::size_t checkpoint);

  bool over = false;
  std::int64_t over_at = 0;
  std::uint64_t taken = 0;
  bool dead = false;
  Run run;
  std::vector<Checkpoint> checkpoints;
  std::map<std::pair<std::uint32_t, std::uint32_t>, TrainerRank*> ranks;  // (dp_rank, peer)

 private:
  void step(std::uint64_t generation);
  void saved(std::uint64_t generation, std::uint64_t tag, const Checkpoint& c);
  void finish(std::uint64_t generation);
  std::map<std::uint64_t, Tally> told() const;
  void check_pack(const TrainerRank& r, const Pack& p) const;

  World& world_;
  std::uint64_t generation_ = 0;
  Checkpoint begun_;
  std::uint64_t steps_ = 0;
  std::uint64_t every_;
  bool busy_ = false;
  std::map<std::uint64_t, std::uint32_t> saves_;
};

}  // namespace packline::simulation

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/instant.h"
#include "lib/base/random.h"
#include "lib/base/result.h"
#include "lib/client/subscriber.h"
#include "lib/config/job.h"
#include "lib/windows/window_maker.h"
#include "packer/packer.h"
#include "producer/producer.h"
#include "sink/sink.h"

namespace packline::reference {

struct LineOptions {
  std::uint64_t seed = 0;  // of the order of messages, the number of roles and their sizes
  std::uint32_t room = 0;  // packs that a rank holds; 0 = drawn
};

// A pack as a rank took it.
struct TakenPack {
  std::uint64_t step = 0;  // of its rank
  StreamPoint at;
  std::uint32_t dp_rank = 0;
  std::uint64_t digest = 0;
  Samples samples;
  std::vector<Buffer> frames;  // they came in
};

struct LineResult {
  std::vector<TakenPack> packs;               // rank after rank, each in its order
  std::map<WindowKey, ClosedWindow> windows;  // as they were made, without their samples
  std::vector<EpochTally> epochs;             // ledgers as the ranks were told them
  std::uint32_t producers = 0, packers = 0;   // as drawn
  std::uint64_t messages = 0;
};

// A whole line in one process: the production state machines, each with what its service would do,
// over real WindowMakers. Every message goes through the wire's codec and arrives at once, but in
// an order drawn from the seed, whoever sent it; the clock moves only when nothing is under way.
class Line {
 public:
  // Opens the job's sources once a producer. The job gets its identity.
  static Result<std::unique_ptr<Line>> open(Job& job, const LineOptions& options);

  // To the end. Error (kBug): something that the laws forbid, as a sentence; kDataRefused: the data
  // was refused.
  Result<LineResult> run();

 private:
  struct Producing {
    Producer machine;
    std::unique_ptr<WindowMaker> maker;
    bool over = false;
  };
  struct Packing {
    Packer machine;
    bool over = false;
  };
  struct Sinking {
    Sink machine;
    bool over = false;
  };
  struct Rank {
    std::uint32_t dp_rank = 0, peer = 0;
    Subscriber machine;
    std::vector<TakenPack> taken;
    bool finished = false, over = false;
  };

  Line(const Job& job, const LineOptions& options);
  void populate(std::vector<std::unique_ptr<WindowMaker>> makers);
  SinkSettings sink_settings(std::uint32_t rank);
  SubscriberSettings rank_settings(std::uint32_t rank, std::uint32_t peer);

  // `what` will be done at a time of chance's choosing, with the message as the wire gives it.
  void post(const Message& m, std::function<void(Message)> what);
  void later(std::function<void()> what) { under_way_.push_back(std::move(what)); }
  void tick_all();
  void act(Producing& p);
  void act(Sinking& s);
  void act(Rank& r);
  void made(Producing& p, const ReadRequest& request);
  void pack(Packing& p, const Window& w);
  void take(Rank& r);
  void finish_when_all_ended();
  template <typename Role>
  void check_exit(Role& role, const std::string& name);
  bool all_over() const;
  std::uint64_t packs_taken() const;
  void check_peers();
  void fail_with(ExitCode code, std::string text);

  const Job& job_;
  const LineOptions options_;
  Rng rng_;
  Instant now_{};
  std::vector<std::function<void()>> under_way_;
  std::vector<std::unique_ptr<Producing>> producers_;
  std::vector<std::unique_ptr<Packing>> packers_;
  std::vector<std::unique_ptr<Sinking>> sinks_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::uint64_t ticks_ = 0;
  std::uint64_t packs_at_tick_ = 0, idle_since_ = 0;  // when a rank last took a pack
  Status trouble_;
  LineResult result_;
};

}  // namespace packline::reference

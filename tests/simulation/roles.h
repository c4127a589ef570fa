#pragma once

#include <cstdint>
#include <string>

#include "packer/packer.h"
#include "producer/producer.h"
#include "sink/sink.h"
#include "tests/simulation/world.h"

// The production state machines, each with what its service would do.

namespace packline::simulation {

std::string describe(const Message& m);  // for a trace

class ProducerProcess : public Process {
 public:
  ProducerProcess(World& world, std::uint32_t index, Run run, int address);
  void receive(const Post& m, int from) override;
  void tick() override;
  bool current() const override;

  const std::uint32_t index;
  const Run run;

 private:
  void act();
  void writable();

  Producer machine_;
  bool retrying_ = false;
};

class PackerProcess : public Process {
 public:
  PackerProcess(World& world, std::uint32_t index, int address);
  void receive(const Post& m, int from) override;
  void tick() override;
  bool current() const override;
  bool hears_notices() const override { return true; }

  const std::uint32_t index;
  std::uint32_t queued = 0;  // windows on the way to it
  bool left = false;         // ended of itself: its connection is closed

 private:
  void pack(const Post& window);

  Packer machine_;
  std::int64_t busy_until_ = 0;
};

class SinkProcess : public Process {
 public:
  SinkProcess(World& world, std::uint32_t rank, Run run, int address);
  void receive(const Post& m, int from) override;
  void tick() override;
  bool current() const override;
  bool hears_notices() const override { return true; }

  const std::uint32_t rank;
  const Run run;

 private:
  void act();
  void check_report(const Report& r);

  Sink machine_;
};

}  // namespace packline::simulation

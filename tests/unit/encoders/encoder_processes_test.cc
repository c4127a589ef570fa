#include "lib/encoders/encoder_processes.h"

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "lib/transport/clock.h"
#include "tests/unit/encoders/support.h"
#include "tests/unit/temp_folder.h"

namespace packline::test {
namespace {

const SourceSettings kSource{};

EncodePool::Group group(std::uint64_t first, std::size_t n) {
  EncodePool::Group g;
  for (std::size_t i = 0; i < n; ++i)
    g.push_back({"{}", &kSource, fmt::format("s0:{}", first + i), first + i});
  return g;
}

EncoderProcessesSettings settings_at(const std::string& address) {
  EncoderProcessesSettings s;
  s.address = address;
  s.encode.kind = EncodeKind::kPython;
  s.encode.function = "m:f";
  s.encode.batch_records = 5;
  s.session = kProducer;
  return s;
}

// An encoder process of a few lines: says that it is there, answers what it is given.
class AnsweringEncoder {
 public:
  AnsweringEncoder(Context& context, const std::string& address)
      : socket_(*Socket::dealer_connect(context, address, "e1")), thread_([this] { run(); }) {}
  ~AnsweringEncoder() {
    stop_ = true;
    thread_.join();
  }
  std::atomic<bool> heard_finished = false;

 private:
  void run() {
    Loop loop;
    loop.watch(socket_);
    std::uint64_t seq = 0, taken = 0;
    while (!stop_) {
      socket_.send(encode(state(1, ++seq, {}, taken)));
      loop.wait(now() + 20ms);
      while (auto in = socket_.receive()) {
        const auto m = decode(in->frames);
        REQUIRE(m.has_value());
        if (const auto* b = std::get_if<RecordBatch>(&*m)) {
          taken = b->number;
          socket_.send(encode(answer(*b, 1)));
        } else {
          heard_finished = std::get<ProducerWord>(*m).finished;
        }
      }
    }
  }
  Socket socket_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

EncodePool::Done next(EncodePool& pool) {
  for (;;) {
    auto done = pool.take();
    REQUIRE(done.has_value());
    if (*done) return std::move(**done);
    pool.wait();
  }
}

}  // namespace

TEST_CASE("EncoderProcesses: groups of several pools come back, each to its own") {
  const TempFolder folder;
  const std::string address = "ipc://" + folder.path() + "/p.3";
  Context context;
  auto processes = EncoderProcesses::open(context, settings_at(address));
  REQUIRE(processes.has_value());
  auto encoders = EncoderProcesses::encoders(*processes);
  REQUIRE(encoders.has_value());
  CHECK((*encoders)->identity() == "python m:f");
  const auto a = (*encoders)->open_pool(), b = (*encoders)->open_pool();
  CHECK(a->group_records() == 5);
  AnsweringEncoder encoder(context, address);
  for (std::uint64_t i = 0; i < 5; ++i) {
    CHECK(a->submit(group(10 * i, 3)) == i + 1);
    CHECK(b->submit(group(1000 + i, 1)) == i + 1);
  }
  for (int i = 0; i < 5; ++i) {
    const EncodePool::Done done = next(*a);
    REQUIRE(done.records.size() == 3);
    CHECK(token_of(done.records[2]) == static_cast<std::int32_t>(10 * (done.group - 1) + 2));
    const EncodePool::Done other = next(*b);
    CHECK(token_of(other.records.at(0)) == static_cast<std::int32_t>(1000 + other.group - 1));
  }
  CHECK(a->outstanding() == 0);
  CHECK(!a->take()->has_value());
  (*processes)->finish();
  for (int i = 0; i < 500 && !encoder.heard_finished; ++i) std::this_thread::sleep_for(10ms);
  CHECK(encoder.heard_finished);
}

TEST_CASE("EncoderProcesses: what nobody encodes is named, and a pool may go while it waits") {
  const TempFolder folder;
  const std::string address = "ipc://" + folder.path() + "/p.3";
  Context context;
  auto processes = EncoderProcesses::open(context, settings_at(address));
  REQUIRE(processes.has_value());
  const auto encoders = EncoderProcesses::encoders(*processes);
  {
    const auto pool = (*encoders)->open_pool();
    pool->submit(group(0, 3));
    std::vector<Wait> waits;
    for (int i = 0; i < 500 && waits.empty(); ++i) {
      std::this_thread::sleep_for(10ms);
      waits = (*processes)->status().waits;
    }
    REQUIRE(waits.size() == 1);
    CHECK(waits[0].what == "records to be encoded");
    std::thread waker([&] { pool->wake(); });
    pool->wait();
    waker.join();
  }
  const auto pool = (*encoders)->open_pool();
  pool->submit(group(50, 1));
  AnsweringEncoder encoder(context, address);
  CHECK(token_of(next(*pool).records.at(0)) == 50);
}

TEST_CASE("EncoderProcesses: an error of its owner ends all encoding with it") {
  const TempFolder folder;
  Context context;
  EncoderProcessesSettings s = settings_at("ipc://" + folder.path() + "/p.3");
  std::atomic<bool> broken = false;
  s.each_turn = [&]() -> Status {
    if (broken) return fail(ExitCode::kWrongJob, "encode-0 ended with exit code 2");
    return {};
  };
  auto processes = EncoderProcesses::open(context, std::move(s));
  REQUIRE(processes.has_value());
  const auto encoders = EncoderProcesses::encoders(*processes);
  const auto pool = (*encoders)->open_pool();
  pool->submit(group(0, 1));
  broken = true;
  pool->wait();
  const auto done = pool->take();
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().text == "encode-0 ended with exit code 2");
}

TEST_CASE("EncoderProcesses: an address that is in use is an error") {
  const TempFolder folder;
  Context context;
  const EncoderProcessesSettings s = settings_at("ipc://" + folder.path() + "/p.3");
  auto first = EncoderProcesses::open(context, s);
  REQUIRE(first.has_value());
  Context other;
  CHECK_FALSE(EncoderProcesses::open(other, s).has_value());
}

}  // namespace packline::test

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/result.h"
#include "lib/delivery/role.h"
#include "lib/encode/pool.h"
#include "lib/encoders/record_dispatch.h"
#include "lib/telemetry/log.h"
#include "lib/transport/context.h"
#include "lib/transport/loop.h"
#include "lib/transport/socket.h"
#include "lib/transport/wake.h"

namespace packline {

struct EncoderProcessesSettings {
  std::string address;  // to bind
  EncodeSettings encode;
  std::uint64_t session = 0;                       // of this life of the producer
  Duration warn_after = std::chrono::seconds(30);  // a wait that lasts longer is logged
  // Called about every 50 ms from the thread; an error ends all encoding with it.
  std::function<Status()> each_turn = {};
};

// A thread with a ROUTER socket around a RecordDispatch: what encoder processes connect to. Pools
// of it may be used by other threads, each by one.
class EncoderProcesses {
 public:
  // Binds, and starts the thread. `context` must outlive it.
  static Result<std::shared_ptr<EncoderProcesses>> open(Context& context,
                                                        EncoderProcessesSettings settings);
  ~EncoderProcesses();  // ends the thread
  EncoderProcesses(const EncoderProcesses&) = delete;
  EncoderProcesses& operator=(const EncoderProcesses&) = delete;

  // What an open_job() takes; the encoders keep this alive.
  static Result<std::unique_ptr<Encoders>> encoders(std::shared_ptr<EncoderProcesses> processes);

  // From any thread. From now on the caller tells what status() says is waited for; until then this
  // logs it.
  void leave_waits_to_caller() { logs_waits_ = false; }
  // From any thread. Every encoder is told that there is nothing more to do.
  void finish() { finished_ = true; }
  struct State {
    std::vector<Wait> waits;
    DispatchCounters counters;
    std::size_t encoders = 0;  // connected now
    std::uint64_t bad_messages = 0;
  };
  State status() const;  // as of the thread's last turn

 private:
  friend class ProcessPool;
  // What one pool has got back.
  struct Inbox {
    std::deque<EncodePool::Done> done;
    bool woken = false;
    std::condition_variable changed;
  };
  struct Submission {
    std::uint64_t group = 0;
    EncodePool::Group records;
  };

  EncoderProcesses(EncoderProcessesSettings settings, Socket socket);
  void run();
  bool take_submissions(Instant t);
  void receive(Instant t);
  bool send(const std::string& peer, const RecordBatch& batch);
  void give_back();
  void tell_words(Instant t);
  void log_waits(const std::vector<Wait>& waits, Instant t);
  void publish(Instant t);
  DispatchRecord record_of(PoolRecord r);

  const EncoderProcessesSettings settings_;
  // Of the thread.
  Socket socket_;
  Loop loop_;
  RecordDispatch dispatch_;
  log::Limit limit_{std::chrono::seconds(10)};
  log::Limit waits_limit_;
  std::map<const SourceSettings*, RecordSource> sources_;
  Instant tell_at_{};
  std::uint64_t bad_ = 0;

  Wake wake_;
  std::atomic<bool> finished_ = false;
  std::atomic<bool> logs_waits_ = true;
  mutable std::mutex mutex_;  // of all below
  std::vector<Submission> submissions_;
  std::map<std::uint64_t, std::shared_ptr<Inbox>> owners_;  // by group
  std::set<std::uint64_t> dropped_;                         // groups whose pool is gone
  std::optional<Error> broken_;
  std::uint64_t last_group_ = 0;
  State status_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace packline

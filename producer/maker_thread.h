#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/result.h"
#include "lib/windows/quarantine.h"
#include "lib/windows/window_maker.h"
#include "producer/producer.h"

namespace packline {

// The thread in which windows are made, so that reading and encoding never hold up the loop that
// answers reports. Requests are served in the order asked, but that one whose records are still
// being encoded lets others pass. Losses are in the quarantine file before their window is given
// out.
//
// ask(), forget() and take() are called from the loop; `made` is called from the thread, after each
// window, to wake the loop.
class MakerThread {
 public:
  struct Made {
    std::uint64_t ticket = 0;
    Result<ClosedWindow> window;
    bool gone = false;  // there is none: the source cannot go back to its place
    std::optional<Error> quarantine_trouble;  // the window is whole all the same
  };

  MakerThread(std::unique_ptr<WindowMaker> maker, Quarantine quarantine,
              std::function<void()> made);
  ~MakerThread();  // cancels what is under way, joins
  MakerThread(const MakerThread&) = delete;
  MakerThread& operator=(const MakerThread&) = delete;

  void ask(const ReadRequest& request);
  // Drops requests that are not wanted any more.
  void forget(const std::function<bool(std::uint64_t ticket)>& wanted);
  std::optional<Made> take();
  // What make() waits for now, WindowMaker::waits().
  std::string waits() const { return maker_->waits(); }
  std::uint64_t quarantine_unwritten() const;

 private:
  void work();
  std::vector<ReadRequest> wait_for_requests();
  std::optional<Made> serve_one(const std::vector<ReadRequest>& requests);
  std::optional<Made> serve(const ReadRequest& request);

  std::unique_ptr<WindowMaker> maker_;
  Quarantine quarantine_;  // used by the thread
  std::function<void()> made_;
  mutable std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<ReadRequest> requests_;  // guarded by mutex_
  std::deque<Made> results_;          // guarded by mutex_
  std::uint64_t unwritten_ = 0;       // guarded by mutex_
  bool stop_ = false;                 // guarded by mutex_
  std::thread thread_;
};

}  // namespace packline

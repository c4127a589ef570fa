#include "producer/maker_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace packline {

MakerThread::MakerThread(std::unique_ptr<WindowMaker> maker, Quarantine quarantine,
                         std::function<void()> made)
    : maker_(std::move(maker)), quarantine_(std::move(quarantine)), made_(std::move(made)) {
  thread_ = std::thread([this] { work(); });
}

MakerThread::~MakerThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  maker_->cancel();
  asked_.notify_one();
  thread_.join();
}

void MakerThread::ask(const ReadRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  asked_.notify_one();
  maker_->wake();
}

void MakerThread::forget(const std::function<bool(std::uint64_t)>& wanted) {
  const std::lock_guard lock(mutex_);
  std::erase_if(requests_, [&](const ReadRequest& r) { return !wanted(r.ticket); });
}

std::optional<MakerThread::Made> MakerThread::take() {
  const std::lock_guard lock(mutex_);
  if (results_.empty()) return std::nullopt;
  Made out = std::move(results_.front());
  results_.pop_front();
  return out;
}

std::uint64_t MakerThread::quarantine_unwritten() const {
  const std::lock_guard lock(mutex_);
  return unwritten_;
}

// An exception, such as memory that ran out, would end the process without a word.
std::optional<MakerThread::Made> MakerThread::serve(const ReadRequest& request) {
  try {
    if (const Status ok = maker_->reaches(request.place); !ok) {
      return Made{request.ticket, tl::unexpected<Error>(ok.error()), true, std::nullopt};
    }
    std::vector<Loss> losses;
    Result<std::optional<ClosedWindow>> window =
        maker_->try_make(request.lane, request.place, losses);
    if (!window)
      return Made{request.ticket, tl::unexpected<Error>(window.error()), false, std::nullopt};
    if (!*window) return std::nullopt;
    Made made{request.ticket, std::move(**window), false, std::nullopt};
    if (Status ok = quarantine_.write(*made.window, losses); !ok)
      made.quarantine_trouble = ok.error();
    return made;
  } catch (const std::exception& e) {
    return Made{request.ticket,
                fail(ExitCode::kBug,
                     fmt::format("window {} of lane {}, epoch {}: making it failed: {}",
                                 request.place.index, request.lane, request.place.epoch, e.what())),
                false, std::nullopt};
  }
}

// Those that are asked for now, in order; waits until there is one.
std::vector<ReadRequest> MakerThread::wait_for_requests() {
  std::unique_lock lock(mutex_);
  asked_.wait(lock, [this] { return stop_ || !requests_.empty(); });
  if (stop_) return {};
  return {requests_.begin(), requests_.end()};
}

// The first of them that can be made without waiting; a request whose records are still being
// encoded holds up no other.
std::optional<MakerThread::Made> MakerThread::serve_one(const std::vector<ReadRequest>& requests) {
  for (const ReadRequest& request : requests)
    if (std::optional<Made> made = serve(request)) return made;
  return std::nullopt;
}

void MakerThread::work() {
  while (true) {
    const std::vector<ReadRequest> requests = wait_for_requests();
    if (requests.empty()) return;
    std::optional<Made> made = serve_one(requests);
    if (!made) {
      maker_->wait();
      continue;
    }
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      std::erase_if(requests_, [&](const ReadRequest& r) { return r.ticket == made->ticket; });
      unwritten_ = quarantine_.unwritten();
      results_.push_back(std::move(*made));
    }
    made_();
  }
}

}  // namespace packline

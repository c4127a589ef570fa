#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "lib/base/instant.h"

namespace packline {

// Told, in one sentence, what takes long (law L7). May be empty; may be called from any thread that
// opens or reads a source.
using Say = std::function<void(const std::string&)>;

// Says that something takes long: nothing before `first` has passed, then every `every`.
class LongWork {
 public:
  static constexpr Duration kFirst = std::chrono::seconds(2);
  static constexpr Duration kEvery = std::chrono::seconds(10);

  // `say` must outlive it.
  explicit LongWork(const Say& say, Duration first = kFirst, Duration every = kEvery);

  // Call often; `text` gives the sentence, from the whole seconds that have passed.
  template <typename Text>
  void tick(const Text& text) {
    if (say_ && due()) say_(text(seconds()));
  }
  // The last word, of something that took long enough to be said.
  template <typename Text>
  void done(const Text& text) {
    if (say_ && spoke_) say_(text(seconds()));
  }

 private:
  bool due();
  std::int64_t seconds() const;

  const Say& say_;
  const Duration every_;
  const std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point next_;
  bool spoke_ = false;
};

// "730 bytes", "1.5 MiB".
std::string size_text(std::uint64_t bytes);

}  // namespace packline

#include "lib/corpus/say.h"

#include <fmt/format.h>

#include <array>

namespace packline {

LongWork::LongWork(const Say& say, Duration first, Duration every)
    : say_(say), every_(every), began_(std::chrono::steady_clock::now()), next_(began_ + first) {}

bool LongWork::due() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + every_;
  spoke_ = true;
  return true;
}

std::int64_t LongWork::seconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began_)
      .count();
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < kUnits.size()) {
    size /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

}  // namespace packline

#pragma once

#include <cstdint>
#include <string_view>

namespace packline {

// The anonymous memory of this process, in bytes: what it took, without mapped files, which the
// system can drop. The kernel keeps no peak of it, so the peak is that of the samples.
class MemoryMeter {
 public:
  // Now; 0 where the system does not tell.
  std::uint64_t sample();
  std::uint64_t peak() const { return peak_; }

 private:
  std::uint64_t peak_ = 0;
};

// The value of "RssAnon:" of a /proc/PID/status, in bytes; 0 when it is not there.
std::uint64_t anonymous_bytes(std::string_view proc_status);

}  // namespace packline

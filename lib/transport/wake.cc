#include "lib/transport/wake.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "lib/base/check.h"

namespace packline {

Wake::Wake() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) { PL_CHECK(fd_.get() >= 0); }

void Wake::signal() noexcept {
  const std::uint64_t one = 1;
  // EAGAIN: the counter is full, so the loop will wake up anyway.
  while (::write(fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void Wake::clear() noexcept {
  std::uint64_t count = 0;
  while (::read(fd_.get(), &count, sizeof count) < 0 && errno == EINTR) {
  }
}

}  // namespace packline

#include "lib/base/fd.h"

#include <unistd.h>

namespace packline {

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace packline

#pragma once

#include <string>

#include "lib/base/fd.h"
#include "lib/base/result.h"

namespace packline {

// The right to bind an ipc path. Binding a path that is in use would succeed and steal it, so it is
// bound only while `<path>.lock` is locked; the lock ends with the process, however it ends. Gone
// with the object: the lock and both files.
class IpcLock {
 public:
  // Takes the lock and removes a socket file that a dead process left. An error names the process
  // that holds the lock.
  static Result<IpcLock> take(const std::string& path);

  IpcLock(IpcLock&&) noexcept = default;
  IpcLock& operator=(IpcLock&&) = delete;
  ~IpcLock();

 private:
  IpcLock(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  Fd fd_;
};

}  // namespace packline

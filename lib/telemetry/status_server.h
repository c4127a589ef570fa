#pragma once

#include <memory>
#include <string>

#include "lib/base/instant.h"
#include "lib/base/result.h"

// The only user of cpp-httplib.

namespace packline {

// Serves GET /status (the document published last; 503 before the first) and GET /healthz ("ok").
// Has threads of its own; publish() may be called from any.
class StatusServer {
 public:
  // `address` is "host:port"; port 0 takes one of the system's choice. With `port_file` the port is
  // written there, atomically, once it is served.
  static Result<std::unique_ptr<StatusServer>> start(const std::string& address,
                                                     const std::string& port_file = {});

  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;
  ~StatusServer();  // ends the threads

  void publish(std::string json);
  int port() const;

 private:
  struct Impl;
  explicit StatusServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The body of a 200 answer. Any other answer, and none within the timeout, is an error that says
// so.
Result<std::string> http_get(const std::string& address, const std::string& path, Duration timeout);

}  // namespace packline

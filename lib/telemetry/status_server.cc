#include "lib/telemetry/status_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <atomic>
#include <charconv>
#include <mutex>
#include <thread>

#include "lib/base/whole_file.h"

namespace packline {
namespace {

constexpr std::size_t kRequestBytes = 8192;
constexpr int kThreads = 2;

struct HostPort {
  std::string host;
  int port = 0;
};

Result<HostPort> parse(const std::string& address) {
  HostPort out;
  const std::size_t colon = address.rfind(':');
  if (colon != std::string::npos && colon > 0) {
    out.host = address.substr(0, colon);
    if (out.host.size() > 2 && out.host.front() == '[')
      out.host = out.host.substr(1, out.host.size() - 2);
    const char* end = address.data() + address.size();
    const auto [at, bad] = std::from_chars(address.data() + colon + 1, end, out.port);
    if (bad == std::errc() && at == end && out.port >= 0 && out.port <= 65535) return out;
  }
  return fail(ExitCode::kUnreachable,
              fmt::format("HTTP address \"{}\": must be host:port", address));
}

Status write_port(const std::string& file, int port) {
  const Status ok = write_whole(file, fmt::format("{}\n", port));
  if (ok) return ok;
  return fail(ok.error().code, fmt::format("--http-port-file {}; give a file in a folder that this "
                                           "user may write",
                                           ok.error().text));
}

}  // namespace

struct StatusServer::Impl {
  httplib::Server server;
  int port = 0;
  std::mutex mutex;
  std::shared_ptr<const std::string> document;
  std::atomic<bool> ended{false};
  std::thread thread;

  std::shared_ptr<const std::string> latest() {
    const std::lock_guard hold(mutex);
    return document;
  }

  void prepare() {
    server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server.set_keep_alive_max_count(1);  // a client that lingers must not hold a thread
    server.set_read_timeout(2, 0);
    server.set_write_timeout(2, 0);
    server.set_payload_max_length(kRequestBytes);
    // Not SO_REUSEPORT, by which two processes would share a port and each see half of the
    // requests.
    server.set_socket_options([](auto fd) {
      const int yes = 1;
      ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server.Get("/status", [this](const httplib::Request&, httplib::Response& response) {
      const auto now = latest();
      if (now == nullptr) {
        response.status = 503;
        response.set_content("starting\n", "text/plain");
      } else {
        response.set_content(*now, "application/json");
      }
    });
    server.Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("ok\n", "text/plain");
    });
  }

  bool bind(const HostPort& at) {
    if (at.port == 0) {
      port = server.bind_to_any_port(at.host);
      return port > 0;
    }
    port = at.port;
    return server.bind_to_port(at.host, at.port);
  }

  void run() {
    thread = std::thread([this] {
      server.listen_after_bind();
      ended = true;
    });
    // stop() does nothing before the server runs, so wait for that here, not in the destructor.
    while (!server.is_running() && !ended) std::this_thread::yield();
  }
};

StatusServer::StatusServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

StatusServer::~StatusServer() {
  impl_->server.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

Result<std::unique_ptr<StatusServer>> StatusServer::start(const std::string& address,
                                                          const std::string& port_file) {
  const auto at = parse(address);
  if (!at) return tl::unexpected(at.error());
  auto impl = std::make_unique<Impl>();
  try {
    impl->prepare();
    if (!impl->bind(*at)) {
      return fail(ExitCode::kUnreachable,
                  fmt::format("HTTP address {}: cannot be bound; is another process there? HTTP "
                              "takes the port 4 above "
                              "this process's address in the job file's \"line\"",
                              address));
    }
    impl->run();
  } catch (const std::exception& e) {
    return fail(ExitCode::kUnreachable, fmt::format("HTTP address {}: {}", address, e.what()));
  }
  std::unique_ptr<StatusServer> server(new StatusServer(std::move(impl)));
  if (!port_file.empty()) {
    if (auto written = write_port(port_file, server->port()); !written)
      return tl::unexpected(written.error());
  }
  return server;
}

void StatusServer::publish(std::string json) {
  auto next = std::make_shared<const std::string>(std::move(json));
  const std::lock_guard hold(impl_->mutex);
  impl_->document = std::move(next);
}

int StatusServer::port() const { return impl_->port; }

Result<std::string> http_get(const std::string& address, const std::string& path,
                             Duration timeout) {
  const auto at = parse(address);
  if (!at) return tl::unexpected(at.error());
  const auto unreachable = [&](std::string_view what) {
    return fail(ExitCode::kUnreachable, fmt::format("http://{}{}: {}", address, path, what));
  };
  try {
    httplib::Client client(at->host, at->port);
    client.set_connection_timeout(timeout);
    client.set_read_timeout(timeout);
    client.set_write_timeout(timeout);
    const auto answer = client.Get(path);
    if (!answer) return unreachable(httplib::to_string(answer.error()));
    if (answer->status != 200) return unreachable(fmt::format("answers {}", answer->status));
    return answer->body;
  } catch (const std::exception& e) {
    return unreachable(e.what());
  }
}

}  // namespace packline

#include "launcher/client_loop.h"

#include <fmt/format.h>

#include "lib/app/role_status.h"
#include "lib/app/service.h"
#include "lib/config/addresses.h"
#include "lib/transport/clock.h"
#include "lib/wire/codec.h"

namespace packline {
namespace {

SubscriberSettings settings_for(const Job& job, const ClientOptions& options,
                                TrainerSession session) {
  SubscriberSettings s;
  s.dp_rank = options.dp_rank;
  s.dp_size = job.deliver.dp_size;
  s.peer = options.peer;
  s.session = session;
  s.endpoint = options.sink;
  s.times = job.deliver.times;
  return s;
}

}  // namespace

ClientLoop::ClientLoop(const Job& job, const ClientOptions& options, TrainerSession session)
    : options_(options),
      warn_after_(job.deliver.times.warn_after),
      machine_(settings_for(job, options, session), now()) {}

Result<std::unique_ptr<ClientLoop>> ClientLoop::open(const Job& job, const ClientOptions& options) {
  const TrainerSession session{0, wall_ms(), random_session()};
  std::unique_ptr<ClientLoop> c(new ClientLoop(job, options, session));
  const std::string id = fmt::format("{}.{}.{:x}", options.dp_rank, options.peer, session.random);
  auto socket = Socket::dealer_connect(c->context_, port_of(options.sink, kSubscribersPort), id);
  if (!socket) return tl::unexpected(socket.error());
  c->socket_.emplace(std::move(*socket));
  c->loop_.watch(*c->socket_);
  return c;
}

Exit ClientLoop::run(Signals& signals, const std::function<bool(const Pack&)>& take) {
  loop_.watch(signals.fd());
  while (true) {
    const Instant t = now();
    receive(t);
    bool more = true;
    while (more && machine_.state() == SubscriberState::kReceiving) {
      const std::optional<Pack> pack = machine_.take(t);
      if (!pack) break;
      more = take(*pack);
    }
    if (!more) return {ExitCode::kDone, "as many packs as were asked for"};
    if (machine_.ended() && machine_.state() == SubscriberState::kReceiving) {
      if (!options_.say_done) return {ExitCode::kDone, "the end of the job"};
      machine_.finish(t);
    }
    machine_.tick(t);
    send();
    if (machine_.exit()) {
      socket_->set_linger(kLastWords);
      return *machine_.exit();
    }
    if (signals.read() != Signals::Stop::kNo) return {signals.exit_code(), "ended by a signal"};
    warn(t);
    loop_.wait(t + kTurn);
  }
}

void ClientLoop::receive(Instant t) {
  while (auto in = socket_->receive()) {
    Result<Message> m = decode(in->frames);
    if (m)
      machine_.on_message(std::move(*m), t);
    else
      log::warning_once(limit_, "bad_message", t, "dropped what the sink sent: {}", m.error().text);
  }
}

void ClientLoop::send() {
  for (Subscribe& s : machine_.take_outputs()) socket_->send(encode(std::move(s)));
}

// Law L7: past warn_after it says unasked for what, for whom and since when it waits.
void ClientLoop::warn(Instant t) {
  const auto wait = machine_.wait(t);
  if (!wait || wait->since_ms < static_cast<std::uint64_t>(to_ms(warn_after_)) ||
      t - warned_ < warn_after_)
    return;
  warned_ = t;
  log::warning("{}", wait->what);
}

}  // namespace packline

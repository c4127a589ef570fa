#include "sink/sink_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/whole_file.h"
#include "lib/config/addresses.h"
#include "lib/config/adopt.h"
#include "lib/telemetry/progress_json.h"
#include "lib/transport/clock.h"
#include "lib/wire/codec.h"

namespace packline {
namespace {

using namespace std::chrono_literals;

constexpr Duration kProgress = 1s;  // between two writes of the progress file
constexpr int kMessagesATurn = 64;  // of one socket, then the others and the clock get their turn

}  // namespace

SinkService::SinkService(Job job, const SinkOptions& options)
    : job_(std::move(job)),
      options_(options),
      session_(random_session()),
      status_("sink", static_cast<int>(options.dp_rank), session_, job_.deliver.times.warn_after),
      started_(now()) {}

Result<std::unique_ptr<SinkService>> SinkService::open(Job job, const SinkOptions& options) {
  std::unique_ptr<SinkService> s(new SinkService(std::move(job), options));
  if (Status ok = s->connect(); !ok) return tl::unexpected(ok.error());
  return s;
}

Status SinkService::connect() {
  const std::string& base = job_.line.sinks[options_.dp_rank];
  auto slices = Socket::pull_bind(context_, bind_address(base, kDataPort, job_.line.bind_any));
  if (!slices) return tl::unexpected(slices.error());
  auto trainers =
      Socket::router_bind(context_, bind_address(base, kSubscribersPort, job_.line.bind_any));
  if (!trainers) return tl::unexpected(trainers.error());
  std::vector<std::string> notices_at;
  for (const std::string& producer : job_.line.producers) {
    auto reports =
        Socket::push_connect(context_, port_of(producer, kReportsPort), SocketOptions::state());
    if (!reports) return tl::unexpected(reports.error());
    reports_.push_back(std::move(*reports));
    notices_at.push_back(port_of(producer, kNoticesPort));
  }
  auto notices = Socket::sub_connect(context_, notices_at);
  if (!notices) return tl::unexpected(notices.error());
  slices_.emplace(std::move(*slices));
  trainers_.emplace(std::move(*trainers));
  notices_.emplace(std::move(*notices));
  slices_id_ = loop_.watch(*slices_);
  loop_.wake_when_readable(slices_id_, false);  // until the job is known
  loop_.watch(*trainers_);
  loop_.watch(*notices_);
  return status_.serve(http_address(base, job_.line.bind_any), options_.http_port_file);
}

Exit SinkService::run(Signals& signals) {
  loop_.watch(signals.fd());
  while (true) {
    const Instant t = now();
    turn(t);
    const bool over = machine_ && machine_->exit();
    const bool stop = signals.read() != Signals::Stop::kNo;
    if (failed_ || over || stop) {
      write_progress(t, true);
      trainers_->set_linger(kLastWords);
      for (Socket& r : reports_) r.set_linger(kLastWords);
    }
    if (failed_) return *failed_;
    if (over) return *machine_->exit();
    if (stop) return {signals.exit_code(), "ended by a signal"};
    loop_.wait(std::min(t + kTurn, publish_at_));
  }
}

void SinkService::turn(Instant t) {
  take_notices(t);
  take_subscribes(t);
  if (machine_) {
    take_slices(t);
    machine_->tick(t);
    send_outputs();
  } else if (t - started_ > job_.deliver.times.fail_after) {
    failed_ = Exit{ExitCode::kUnreachable, unknown_job_sentence(t)};
  }
  if (t >= publish_at_) {
    publish_at_ = t + job_.deliver.times.report;
    publish_status(t);
  }
  write_progress(t, false);
}

void SinkService::take_notices(Instant t) {
  for (int i = 0; i < kMessagesATurn; ++i) {
    auto in = notices_->receive();
    if (!in) return;
    const Result<Notice> n = decode_as<Notice>(in->frames);
    if (!n) {
      bad_.drop("notice", in->peer, n.error(), t);
      continue;
    }
    if (!machine_) {
      if (Status ok = start_machine(*n, t); !ok) {
        failed_ = Exit{ok.error().code, ok.error().text};
        return;
      }
    }
    if (n->envelope.job != job_.fingerprint) {
      log::warning_once(
          limit_, "other_job", t, "{}",
          other_job_sentence(job_, n->identity, fmt::format("producer {}", n->producer)));
    }
    machine_->on_notice(*n, t);
  }
}

Status SinkService::start_machine(const Notice& n, Instant t) {
  if (Status ok =
          adopt_identity(job_, n.identity, n.envelope.job, fmt::format("producer {}", n.producer));
      !ok)
    return ok;
  SinkSettings s;
  s.dp_rank = options_.dp_rank;
  s.ranks_per_dp_rank = job_.deliver.ranks_per_dp_rank;
  s.producers = static_cast<std::uint32_t>(job_.line.producers.size());
  s.job = job_.shape();
  s.window_credit = job_.deliver.window_credit;
  // Half: after a pack lease what is queued already may go out a second time.
  s.room_max = static_cast<std::uint32_t>(SocketOptions::subscribers().send_mark) / 2;
  s.endpoint = port_of(job_.line.sinks[options_.dp_rank], kDataPort);
  s.session = session_;
  s.absent_trainer_fails = job_.deliver.absent_trainer_fails;
  s.times = job_.deliver.times;
  s.welcome.identity = job_.identity;
  s.welcome.stream_version = kStreamVersion;
  s.welcome.ranks_per_dp_rank = job_.deliver.ranks_per_dp_rank;
  s.welcome.packs_per_optimizer_step = job_.deliver.packs_per_optimizer_step;
  s.welcome.capacity = job_.pack.capacity;
  s.welcome.dp_size_multiple = job_.pack.dp_size_multiple;
  s.welcome.sample_multiple_of = job_.pack.sample_multiple_of;
  s.welcome.pad_to_multiple_of = job_.pack.pad_to_multiple_of;
  s.welcome.pad_id = static_cast<std::uint32_t>(job_.pack.pad_id);
  s.welcome.epochs = job_.epochs;
  s.welcome.packs_per_epoch = packs_in_every_epoch(job_);
  s.welcome.warn_after_ms = static_cast<std::uint64_t>(to_ms(job_.deliver.times.warn_after));
  s.welcome.fail_after_ms = static_cast<std::uint64_t>(to_ms(job_.deliver.times.fail_after));
  machine_.emplace(std::move(s), t);
  loop_.wake_when_readable(slices_id_, true);
  return {};
}

void SinkService::take_subscribes(Instant t) {
  for (int i = 0; i < kMessagesATurn; ++i) {
    auto in = trainers_->receive();
    if (!in) return;
    const Result<Subscribe> s = decode_as<Subscribe>(in->frames);
    if (!s) {
      bad_.drop("subscribe", in->peer, s.error(), t);
    } else if (machine_) {
      machine_->on_subscribe(in->routing_id, *s, t);
      send_outputs();
    } else {
      answer_unknown_job(in->routing_id, *s, t);
    }
  }
}

void SinkService::answer_unknown_job(const std::string& routing_id, const Subscribe& s, Instant t) {
  Waiting w;
  w.envelope = s.envelope;
  w.session = s.session;
  w.since_ms = elapsed_ms(started_, t);
  w.text = unknown_job_sentence(t);
  trainers_->send_to(routing_id, encode(std::move(w)));
}

std::string SinkService::unknown_job_sentence(Instant t) const {
  return fmt::format("sink {} has heard no producer since it started {} ago (the first is at {})",
                     options_.dp_rank, in_words(t - started_), job_.line.producers.front());
}

void SinkService::take_slices(Instant t) {
  for (int i = 0; i < kMessagesATurn; ++i) {
    auto in = slices_->receive();
    if (!in) return;
    Result<Slice> s = decode_as<Slice>(in->frames);
    if (!s) {
      bad_.drop("slice", in->peer, s.error(), t);
      continue;
    }
    machine_->on_slice(std::move(*s), t);
    send_outputs();
  }
}

// Nothing here waits: what a peer cannot take now is said again, a report by the next one, a pack
// by its lease.
void SinkService::send_outputs() {
  for (SinkOutput& o : machine_->take_outputs()) {
    if (auto* to = std::get_if<ToTrainer>(&o)) {
      trainers_->send_to(to->address, encode(to->message));
    } else if (auto* report = std::get_if<ToProducer>(&o)) {
      reports_[report->producer].send(encode(std::move(report->report)));
    }
  }
}

void SinkService::write_progress(Instant t, bool last) {
  if (options_.progress_file.empty() || !machine_) return;
  const std::vector<PeerStatus> peers = machine_->peers(t);
  if (peers.empty() || !peers[0].present) return;
  const bool done =
      std::all_of(peers.begin(), peers.end(), [](const PeerStatus& p) { return p.done; });
  const bool due = last || t >= progress_at_ || done != done_written_;
  if (!due) return;
  progress_at_ = t + kProgress;
  const std::string text =
      progress_to_json({job_.fingerprint, options_.dp_rank, done, peers[0].progress});
  if (text == progress_written_) return;
  if (Status ok = write_whole(options_.progress_file, text); !ok) {
    log::warning_once(limit_, "progress_file", t, "--progress-file {}", ok.error().text);
    return;
  }
  progress_written_ = text;
  done_written_ = done;
}

void SinkService::publish_status(Instant t) {
  if (!machine_) {
    status_.publish("waiting", {},
                    {{"a notice", fmt::format("producers at {}", job_.line.producers.front()),
                      elapsed_ms(started_, t)}},
                    {}, t);
    return;
  }
  RoleStatus::Numbers holds = {{"slices", machine_->held()}};
  const SinkCounters& c = machine_->counters();
  RoleStatus::Numbers counters = {{"slices", c.slices},
                                  {"slices_had", c.slices_had},
                                  {"slices_early", c.slices_early},
                                  {"slices_full", c.slices_full},
                                  {"slices_evicted", c.slices_evicted},
                                  {"slices_misfit", c.slices_misfit},
                                  {"packs_sent", c.packs_sent},
                                  {"packs_sent_again", c.packs_sent_again},
                                  {"subscribes_stale", c.subscribes_stale},
                                  {"sessions_fenced", c.sessions_fenced},
                                  {"refused_other_job", c.refused_other_job},
                                  {"refused_other_dp_size", c.refused_other_dp_size},
                                  {"refused_bad", c.refused_bad},
                                  {"went_back", c.went_back},
                                  {"bad_messages", bad_.count()}};
  if (const std::vector<PeerStatus> peers = machine_->peers(t);
      !peers.empty() && peers[0].present) {
    const Tally& taken = peers[0].progress.total;
    holds.emplace_back("room", peers[0].room);
    holds.emplace_back("epoch", peers[0].want.epoch);
    holds.emplace_back("window", peers[0].want.window);
    counters.emplace_back("packs_taken", taken.packs);
    counters.emplace_back("samples_taken", taken.samples);
    counters.emplace_back("tokens_taken", taken.tokens);
    counters.emplace_back("records_passed", taken.ledger.records_read);
    counters.emplace_back("losses_passed",
                          taken.ledger.records_lost_in_all() + taken.ledger.samples_lost_in_all());
  }
  status_.publish(name_of(machine_->state()), std::move(holds), machine_->waits(t),
                  std::move(counters), t);
}

}  // namespace packline

#include "producer/producer_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/config/addresses.h"
#include "lib/telemetry/log.h"
#include "lib/telemetry/progress_json.h"
#include "lib/transport/clock.h"

namespace packline {
namespace {

std::string longest_wait(const std::vector<Wait>& waits) {
  const auto longest = std::ranges::max_element(waits, {}, &Wait::since_ms);
  if (longest == waits.end()) return "";
  return fmt::format("{} from {}, since {}", longest->what, longest->whom,
                     in_words_ms(longest->since_ms));
}

// A stream without end that has no pack would be waited for, for ever.
Status check_there_are_records(const Job& job, const WindowMaker& maker) {
  if (job.epochs != kContinuous) return {};
  const std::uint64_t packs_a_step = job.pack.dp_size_multiple;
  const std::uint64_t taken = maker.records_taken(packs_a_step);
  if (job.split == Split::kEval && taken > 0 && taken < packs_a_step) {
    log::warning(
        "{} of {} records fell into the eval split, fewer than the {} packs that it is dealt over "
        "(pack.dp_size_multiple): some ranks evaluate packs without samples; raise eval.fraction",
        taken, maker.records(), packs_a_step);
  }
  if (taken > 0) return {};
  if (maker.records() == 0) {
    return fail(
        ExitCode::kDataRefused,
        fmt::format(
            "{}: epochs is continuous and the sources hold no record: no pack would ever come",
            job.file));
  }
  return fail(ExitCode::kDataRefused,
              fmt::format("{}: eval.fraction {}: of {} records {} the {} split; choose another "
                          "fraction or eval.seed, or leave eval out",
                          job.file, job.eval.fraction, maker.records(),
                          job.split == Split::kEval ? "none fell into" : "none is left for",
                          job.split == Split::kEval ? "eval" : "training"));
}

}  // namespace

ProducerService::ProducerService(Job job, const ProducerOptions& options)
    : job_(std::move(job)),
      options_(options),
      session_(random_session()),
      status_("producer", static_cast<int>(options.index), session_,
              job_.deliver.times.warn_after) {}

Result<std::unique_ptr<ProducerService>> ProducerService::open(Job job,
                                                               const ProducerOptions& options) {
  std::unique_ptr<ProducerService> s(new ProducerService(std::move(job), options));
  // The addresses first: a second producer with this index must not touch the first one's files.
  if (Status ok = s->bind(); !ok) return tl::unexpected(ok.error());
  auto maker = open_job(
      s->job_, [](const std::string& text) { log::info("{}", text); },
      [&s](const Job& j) { return s->open_encoders(j); });
  if (!maker) return tl::unexpected(maker.error());
  if (Status ok = check_there_are_records(s->job_, **maker); !ok) return tl::unexpected(ok.error());
  s->start(std::move(*maker));
  return s;
}

Status ProducerService::bind() {
  const std::string& base = job_.line.producers[options_.index];
  auto windows = Socket::push_bind(context_, bind_address(base, kDataPort, job_.line.bind_any),
                                   SocketOptions::windows());
  if (!windows) return tl::unexpected(windows.error());
  auto reports = Socket::pull_bind(context_, bind_address(base, kReportsPort, job_.line.bind_any),
                                   SocketOptions::state());
  if (!reports) return tl::unexpected(reports.error());
  auto notices = Socket::pub_bind(context_, bind_address(base, kNoticesPort, job_.line.bind_any));
  if (!notices) return tl::unexpected(notices.error());
  windows_.emplace(std::move(*windows));
  reports_.emplace(std::move(*reports));
  notices_.emplace(std::move(*notices));
  return status_.serve(http_address(base, job_.line.bind_any), options_.http_port_file);
}

Result<std::unique_ptr<Encoders>> ProducerService::open_encoders(const Job& job) {
  if (!in_processes(job.encode.kind)) return open_encoders_here(job);
  EncoderProcessesSettings settings;
  settings.address =
      bind_address(job.line.producers[options_.index], kEncodersPort, job.line.bind_any);
  settings.encode = job.encode;
  settings.session = session_;
  settings.warn_after = job.deliver.times.warn_after;
  auto processes = EncoderProcesses::open(context_, std::move(settings));
  if (!processes) return tl::unexpected(processes.error());
  encoders_ = *processes;
  return EncoderProcesses::encoders(std::move(*processes));
}

void ProducerService::start(std::unique_ptr<WindowMaker> maker) {
  records_ = maker->records_in(0);
  if (encoders_) encoders_->leave_waits_to_caller();
  ProducerSettings settings;
  settings.index = options_.index;
  settings.producers = static_cast<std::uint32_t>(job_.line.producers.size());
  settings.job = job_.shape();
  settings.window_credit = job_.deliver.window_credit;
  settings.session = session_;
  settings.reads_once = std::ranges::any_of(job_.sources, &SourceSettings::pipe);
  settings.identity = job_.identity;
  settings.absent_trainer_fails = job_.deliver.absent_trainer_fails;
  settings.times = job_.deliver.times;
  machine_.emplace(settings, now());
  maker_.emplace(std::move(maker), Quarantine(job_), [this] { wake_.signal(); });
  windows_id_ = loop_.watch(*windows_);
  loop_.wake_when_readable(windows_id_, false);
  loop_.watch(*reports_);
  loop_.watch(wake_.fd());
}

Exit ProducerService::run(Signals& signals) {
  loop_.watch(signals.fd());
  while (true) {
    const Instant t = now();
    turn(t);
    if (failed_) return *failed_;
    if (machine_->exit()) {
      notices_->set_linger(kLastWords);
      return *machine_->exit();
    }
    if (signals.read() != Signals::Stop::kNo) {
      windows_->set_linger(kLastWords);
      return {signals.exit_code(), "ended by a signal"};
    }
    loop_.wake_when_writable(windows_id_, machine_->blocked());
    loop_.wait(std::min(t + kTurn, publish_at_));
  }
}

void ProducerService::turn(Instant t) {
  take_reports(t);
  take_windows(t);
  machine_->on_source_wait(maker_->waits(), t);
  machine_->tick(t);
  if (encoders_ && machine_->state() != ProducerState::kActive) encoders_->finish();
  maker_->forget([this](std::uint64_t ticket) { return machine_->wanted(ticket); });
  for (const ReadRequest& r : machine_->take_reads(t)) maker_->ask(r);
  machine_->dispatch(t, [this](const Window& w) { return send(w); });
  if (t >= publish_at_) publish(t);
}

// A window that no packer takes is tried again each turn, and encoded once.
bool ProducerService::send(const Window& w) {
  if (!blocked_ || blocked_->key != w.key || blocked_->before != w.before || blocked_->to != w.to)
    blocked_ = Blocked{w.key, w.before, w.to, encode(w)};
  if (windows_->send(blocked_->frames) != Sent::kSent) return false;
  blocked_.reset();
  return true;
}

void ProducerService::take_reports(Instant t) {
  while (auto in = reports_->receive()) {
    const Result<Report> r = decode_as<Report>(in->frames);
    if (!r) {
      bad_.drop("report", in->peer, r.error(), t);
      continue;
    }
    if (r->envelope.job != job_.fingerprint) {
      log::warning_once(limit_, "other_job", t,
                        "refused a report of sink {} from {}: it serves another job ({:016x}, this "
                        "producer's is {:016x}); give every process the same job and data, or "
                        "start the whole line again",
                        r->dp_rank, in->peer, r->envelope.job, job_.fingerprint);
    }
    machine_->on_report(*r, t);
  }
}

void ProducerService::take_windows(Instant t) {
  wake_.clear();
  while (auto made = maker_->take()) {
    if (made->quarantine_trouble) log::warning("{}", made->quarantine_trouble->text);
    if (!made->window) {
      take_trouble(*made, t);
      continue;
    }
    ClosedWindow& c = *made->window;
    if (is_empty_epoch(c)) {
      failed_ = Exit{ExitCode::kDataRefused,
                     fmt::format("{}: no sample is left of the {} records of {}: all were lost, "
                                 "the quarantine says why; no pack would ever come",
                                 job_.file, c.ledger.records_read,
                                 job_.split == Split::kEval ? "the eval split" : "an epoch")};
      return;
    }
    Window w;
    w.key = c.key;
    w.before = std::move(c.before);
    w.after = std::move(c.after);
    w.last = c.last;
    w.packs = std::move(c.packs);
    w.ledger = c.ledger;
    w.samples = std::move(c.samples);
    machine_->on_window(made->ticket, std::move(w), t);
  }
}

// All epochs are alike in this, of one lane, which one producer has.
bool ProducerService::is_empty_epoch(const ClosedWindow& w) const {
  return job_.epochs == kContinuous && job_.lanes == 1 && w.last && w.key.index == 0 &&
         w.packs.empty();
}

// A place that is none of this job's, or is gone, comes from some rank's cursor: that rank is told.
// All else is the data's or this program's, and ends the line.
void ProducerService::take_trouble(const MakerThread::Made& made, Instant t) {
  // An old ticket's trouble is nobody's: the place it was made for is not wanted any more.
  if (!machine_->wanted(made.ticket)) return;
  const Error& error = made.window.error();
  if (error.code != ExitCode::kWrongJob && !made.gone) {
    failed_ = Exit{error.code, error.text};
    return;
  }
  log::warning_once(limit_, "refused_place", t, "refused what a trainer rank wants: {}",
                    error.text);
  machine_->on_refused(made.ticket, error.text, made.gone);
}

void ProducerService::publish(Instant t) {
  publish_at_ = t + job_.deliver.times.report;
  Notice notice = machine_->notice(static_cast<std::uint32_t>(windows_->peers()), t);
  if (encoders_) notice.encoding = longest_wait(encoders_->status().waits);
  notices_->send(encode(notice));
  publish_status(t);
}

void ProducerService::publish_status(Instant t) {
  const auto packers = static_cast<std::uint32_t>(windows_->peers());
  const ProducerCounters& c = machine_->counters();
  RoleStatus::Numbers holds = {{"windows", machine_->held()},
                               {"packers_connected", packers},
                               {"records_an_epoch", records_}};
  RoleStatus::Numbers counters = {{"windows_closed", c.windows_closed},
                                  {"windows_sent", c.windows_sent},
                                  {"windows_sent_again", c.windows_sent_again},
                                  {"reports_stale", c.reports_stale},
                                  {"refused_other_job", c.refused_other_job},
                                  {"refused_other_dp_size", c.refused_other_dp_size},
                                  {"refused_bad", c.refused_bad},
                                  {"seeks", c.seeks},
                                  {"reads_dropped", c.reads_dropped},
                                  {"places_refused", c.places_refused},
                                  {"bad_messages", bad_.count()},
                                  {"quarantine_unwritten", maker_->quarantine_unwritten()}};
  std::vector<Wait> waits = machine_->waits(t, packers);
  if (encoders_) add_encoders(holds, counters, waits);
  status_.publish(name_of(machine_->state()), std::move(holds), waits, std::move(counters), t);
}

void ProducerService::add_encoders(RoleStatus::Numbers& holds, RoleStatus::Numbers& counters,
                                   std::vector<Wait>& waits) const {
  EncoderProcesses::State s = encoders_->status();
  holds.emplace_back("encoders_connected", s.encoders);
  const DispatchCounters& c = s.counters;
  counters.insert(counters.end(), {{"batches_sent", c.batches_sent},
                                   {"batches_sent_again", c.batches_sent_again},
                                   {"encoders_lost", c.encoders_lost},
                                   {"encoders_silent", c.encoders_silent},
                                   {"encoders_refused", c.refused},
                                   {"records_killed", c.records_killed},
                                   {"bad_encoder_messages", s.bad_messages}});
  for (Wait& wait : s.waits) waits.push_back(std::move(wait));
}

}  // namespace packline

#include "lib/encoders/encoder_processes.h"

#include <fmt/format.h>

#include <exception>
#include <utility>
#include <variant>

#include "lib/base/check.h"
#include "lib/transport/clock.h"
#include "lib/wire/codec.h"

namespace packline {
namespace {

constexpr Duration kTurnMost = std::chrono::milliseconds(50);
constexpr Duration kWordEvery = std::chrono::milliseconds(200);

SocketOptions options() {
  SocketOptions o = SocketOptions::subscribers();
  o.send_mark = 16;
  o.receive_mark = 16;
  o.frame_bytes_max = std::int64_t{4} << 30;
  o.frames_max = 1U << 20U;
  return o;
}

std::string_view form_name(RecordForm form) {
  switch (form) {
    case RecordForm::kJson:
      return "json";
    case RecordForm::kText:
      return "text";
    case RecordForm::kU8:
      return "u8";
    case RecordForm::kI8:
      return "i8";
    case RecordForm::kI16:
      return "i16";
    case RecordForm::kU16:
      return "u16";
    case RecordForm::kI32:
      return "i32";
    case RecordForm::kI64:
      break;
  }
  return "i64";
}

std::string_view format_name(Format format) {
  switch (format) {
    case Format::kText:
      return "text";
    case Format::kChat:
      return "chat";
    case Format::kTokens:
      return "tokens";
    case Format::kAny:
      break;
  }
  return "any";
}

RecordSource source_of(const SourceSettings& s) {
  const FieldNames& f = s.fields;
  return {std::string(format_name(s.format)),
          {{"text", f.text},
           {"messages", f.messages},
           {"role", f.role},
           {"content", f.content},
           {"input_ids", f.input_ids},
           {"labels", f.labels},
           {"loss_mask", f.loss_mask},
           {"id", f.id}}};
}

Buffer buffer_of(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  const auto* data = reinterpret_cast<const std::byte*>(owner->data());
  const std::size_t size = owner->size();
  return {std::move(owner), data, size};
}

DispatchSettings dispatch_settings(const EncoderProcessesSettings& s) {
  DispatchSettings d;
  d.session = s.session;
  d.encoder = process_identity(s.encode);
  d.lease = s.encode.lease;
  d.word = kWordEvery;
  return d;
}

}  // namespace

// A pool that hands its groups to the thread of an EncoderProcesses.
class ProcessPool final : public EncodePool {
 public:
  explicit ProcessPool(std::shared_ptr<EncoderProcesses> owner)
      : owner_(std::move(owner)), inbox_(std::make_shared<EncoderProcesses::Inbox>()) {}

  ~ProcessPool() override {
    const std::lock_guard lock(owner_->mutex_);
    std::erase_if(owner_->owners_, [&](const auto& o) {
      if (o.second == inbox_) owner_->dropped_.insert(o.first);
      return o.second == inbox_;
    });
    owner_->wake_.signal();
  }

  std::size_t limit() const override {
    return process_groups_max(owner_->settings_.encode.processes);
  }
  std::size_t group_records() const override { return owner_->settings_.encode.batch_records; }

  void wait() override {
    std::unique_lock lock(owner_->mutex_);
    inbox_->changed.wait(lock,
                         [&] { return inbox_->woken || !inbox_->done.empty() || owner_->broken_; });
    inbox_->woken = false;
  }
  void wake() override {
    {
      const std::lock_guard lock(owner_->mutex_);
      inbox_->woken = true;
    }
    inbox_->changed.notify_one();
  }

 private:
  void begin(std::uint64_t number, Group group) override {
    {
      const std::lock_guard lock(owner_->mutex_);
      const std::uint64_t id = ++owner_->last_group_;
      numbers_[id] = number;
      owner_->owners_[id] = inbox_;
      owner_->submissions_.push_back({id, std::move(group)});
    }
    owner_->wake_.signal();
  }

  Result<std::optional<Done>> finished() override {
    const std::lock_guard lock(owner_->mutex_);
    if (owner_->broken_) return tl::unexpected<Error>(*owner_->broken_);
    if (inbox_->done.empty()) return std::nullopt;
    std::optional<Done> done(std::move(inbox_->done.front()));
    inbox_->done.pop_front();
    const auto number = numbers_.find(done->group);
    PL_CHECK(number != numbers_.end());
    done->group = number->second;
    numbers_.erase(number);
    return done;
  }

  const std::shared_ptr<EncoderProcesses> owner_;
  const std::shared_ptr<EncoderProcesses::Inbox> inbox_;  // guarded by the owner's mutex
  std::map<std::uint64_t, std::uint64_t> numbers_;        // the thread's group -> the pool's
};

namespace {

class InProcesses final : public Encoders {
 public:
  InProcesses(std::shared_ptr<EncoderProcesses> processes, std::string identity)
      : processes_(std::move(processes)), identity_(std::move(identity)) {}
  std::string identity() const override { return identity_; }
  std::unique_ptr<EncodePool> open_pool() override {
    return std::make_unique<ProcessPool>(processes_);
  }

 private:
  const std::shared_ptr<EncoderProcesses> processes_;
  const std::string identity_;
};

}  // namespace

Result<std::unique_ptr<Encoders>> EncoderProcesses::encoders(
    std::shared_ptr<EncoderProcesses> processes) {
  Result<std::string> identity = process_fingerprint(processes->settings_.encode);
  if (!identity) return tl::unexpected(identity.error());
  return std::make_unique<InProcesses>(std::move(processes), std::move(*identity));
}

EncoderProcesses::EncoderProcesses(EncoderProcessesSettings settings, Socket socket)
    : settings_(std::move(settings)),
      socket_(std::move(socket)),
      dispatch_(dispatch_settings(settings_)),
      waits_limit_(settings_.warn_after) {}

Result<std::shared_ptr<EncoderProcesses>> EncoderProcesses::open(
    Context& context, EncoderProcessesSettings settings) {
  auto socket = Socket::router_bind(context, settings.address, options());
  if (!socket) return tl::unexpected(socket.error());
  std::shared_ptr<EncoderProcesses> made(
      new EncoderProcesses(std::move(settings), std::move(*socket)));
  made->loop_.watch(made->socket_);
  made->loop_.watch(made->wake_.fd());
  made->thread_ = std::thread([&processes = *made] { processes.run(); });
  return made;
}

EncoderProcesses::~EncoderProcesses() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.signal();
  thread_.join();
}

EncoderProcesses::State EncoderProcesses::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void EncoderProcesses::run() {
  for (;;) {
    const Instant t = now();
    if (!take_submissions(t)) break;
    receive(t);
    dispatch_.tick(t);
    dispatch_.dispatch(
        t, [this](const std::string& peer, const RecordBatch& batch) { return send(peer, batch); });
    give_back();
    if (t >= tell_at_) tell_words(t);
    publish(t);
    loop_.wait(t + kTurnMost);
  }
  tell_words(now());
  socket_.set_linger(kWordEvery);
}

// False: it is time to end.
bool EncoderProcesses::take_submissions(Instant t) {
  wake_.clear();
  std::vector<Submission> submitted;
  std::set<std::uint64_t> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return false;
    submitted.swap(submissions_);
    dropped.swap(dropped_);
  }
  for (Submission& s : submitted) {
    if (dropped.contains(s.group)) continue;
    std::vector<DispatchRecord> records;
    records.reserve(s.records.size());
    for (PoolRecord& r : s.records) records.push_back(record_of(std::move(r)));
    dispatch_.submit(s.group, std::move(records), t);
  }
  if (!dropped.empty())
    dispatch_.drop([&](std::uint64_t group) { return dropped.contains(group); });
  return true;
}

DispatchRecord EncoderProcesses::record_of(PoolRecord r) {
  auto source = sources_.find(r.source);
  if (source == sources_.end()) source = sources_.emplace(r.source, source_of(*r.source)).first;
  DispatchRecord record;
  record.where = fmt::format("{} of {}", r.id, r.source->pattern);
  record.header.id = std::move(r.id);
  record.header.seed = r.seed;
  record.header.form = form_name(r.form);
  record.source = source->second;
  record.bytes = buffer_of(std::move(r.bytes));
  return record;
}

void EncoderProcesses::receive(Instant t) {
  while (auto in = socket_.receive()) {
    Result<Message> m = decode(in->frames);
    if (!m) {
      ++bad_;
      log::warning_once(limit_, "bad_encoder", t,
                        "dropped what is no encoder's message, from {}: {}", in->peer,
                        m.error().text);
    } else if (const auto* state = std::get_if<EncoderState>(&*m)) {
      dispatch_.on_state(in->routing_id, *state, t);
    } else if (const auto* encoded = std::get_if<EncodedBatch>(&*m)) {
      dispatch_.on_encoded(in->routing_id, *encoded, t);
    } else if (const auto* struck = std::get_if<Struck>(&*m)) {
      log::warning("an encoder ended while it worked on records: {}", struck->text);
      dispatch_.on_struck(in->routing_id, *struck, t);
    } else {
      ++bad_;
      log::warning_once(limit_, "bad_encoder", t, "dropped a {}, which no encoder sends, from {}",
                        type_of(*m), in->peer);
    }
  }
}

bool EncoderProcesses::send(const std::string& peer, const RecordBatch& batch) {
  return socket_.send_to(peer, encode(batch)) == Sent::kSent;
}

void EncoderProcesses::give_back() {
  while (std::optional<RecordDispatch::Done> done = dispatch_.take()) {
    std::shared_ptr<Inbox> inbox;
    {
      const std::lock_guard lock(mutex_);
      const auto owner = owners_.find(done->group);
      if (owner == owners_.end()) continue;  // its pool is gone
      inbox = owner->second;
      owners_.erase(owner);
      inbox->done.push_back({done->group, std::move(done->records)});
    }
    inbox->changed.notify_one();
  }
}

void EncoderProcesses::tell_words(Instant t) {
  tell_at_ = t + kWordEvery;
  for (const auto& [peer, word] : dispatch_.words(finished_, t)) {
    if (!word.refused.empty())
      log::warning_once(limit_, "refused_encoder", t, "an encoder gets no records: {}",
                        word.refused);
    socket_.send_to(peer, encode(word));
  }
}

// Law L7: past a limit, whoever waits says so unasked.
void EncoderProcesses::log_waits(const std::vector<Wait>& waits, Instant t) {
  for (const Wait& wait : waits) {
    if (wait.since_ms < static_cast<std::uint64_t>(to_ms(settings_.warn_after))) continue;
    log::warning_once(waits_limit_, "waits", t, "waits for {} from {} since {}", wait.what,
                      wait.whom, in_words_ms(wait.since_ms));
  }
}

void EncoderProcesses::publish(Instant t) {
  std::optional<Error> broken;
  if (settings_.each_turn) {
    if (Status ok = settings_.each_turn(); !ok) broken = ok.error();
  }
  std::vector<Wait> waits = dispatch_.waits(t);
  if (logs_waits_) log_waits(waits, t);
  const std::lock_guard lock(mutex_);
  status_ = {std::move(waits), dispatch_.counters(), dispatch_.encoders(t), bad_};
  if (!broken || broken_) return;
  broken_ = broken;
  for (const auto& [group, inbox] : owners_) inbox->changed.notify_one();
}

}  // namespace packline

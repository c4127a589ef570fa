#include "tests/reference/line.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/delivery/digest.h"
#include "lib/wire/codec.h"

namespace packline::reference {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTick = 50ms;
constexpr std::uint64_t kTicksANotice = 4;
// Virtual minutes without a message that does anything: the line hangs. Ends alone take seconds.
constexpr std::uint64_t kTicksMax = 2 * 60 * 20;

}  // namespace

Line::Line(const Job& job, const LineOptions& options)
    : job_(job), options_(options), rng_(derive(options.seed, {0x6C696E65})) {}

Result<std::unique_ptr<Line>> Line::open(Job& job, const LineOptions& options) {
  std::unique_ptr<Line> line(new Line(job, options));
  const auto producers = static_cast<std::uint32_t>(1 + line->rng_.below(std::min(job.lanes, 3u)));
  std::vector<std::unique_ptr<WindowMaker>> makers;
  for (std::uint32_t i = 0; i < producers; ++i) {
    auto maker = i == 0 ? open_job(job) : WindowMaker::open(job);
    if (!maker) return tl::unexpected(maker.error());
    makers.push_back(std::move(*maker));
  }
  line->populate(std::move(makers));
  return line;
}

void Line::populate(std::vector<std::unique_ptr<WindowMaker>> makers) {
  const auto producers = static_cast<std::uint32_t>(makers.size());
  const auto packers = static_cast<std::uint32_t>(1 + rng_.below(3));
  result_.producers = producers;
  result_.packers = packers;
  for (std::uint32_t i = 0; i < producers; ++i) {
    ProducerSettings s;
    s.index = i;
    s.producers = producers;
    s.job = job_.shape();
    s.window_credit = job_.deliver.window_credit;
    s.session = rng_.next();
    s.identity = job_.identity;
    s.times = job_.deliver.times;
    producers_.push_back(
        std::make_unique<Producing>(Producing{Producer(std::move(s), now_), std::move(makers[i])}));
  }
  PackerSettings packing{job_.pack, job_.shape(), producers, job_.deliver.times};
  for (std::uint32_t i = 0; i < packers; ++i)
    packers_.push_back(std::make_unique<Packing>(Packing{Packer(packing, now_)}));
  for (std::uint32_t r = 0; r < job_.deliver.dp_size; ++r) {
    sinks_.push_back(std::make_unique<Sinking>(Sinking{Sink(sink_settings(r), now_)}));
    for (std::uint32_t p = 0; p < job_.deliver.ranks_per_dp_rank; ++p)
      ranks_.push_back(
          std::make_unique<Rank>(Rank{r, p, Subscriber(rank_settings(r, p), now_), {}}));
  }
}

SinkSettings Line::sink_settings(std::uint32_t rank) {
  SinkSettings s;
  s.dp_rank = rank;
  s.ranks_per_dp_rank = job_.deliver.ranks_per_dp_rank;
  s.producers = static_cast<std::uint32_t>(producers_.size());
  s.job = job_.shape();
  s.window_credit = job_.deliver.window_credit;
  s.endpoint = std::to_string(rank);
  s.session = rng_.next() | 1;
  s.welcome.identity = job_.identity;
  s.welcome.stream_version = kStreamVersion;
  s.welcome.ranks_per_dp_rank = job_.deliver.ranks_per_dp_rank;
  s.welcome.capacity = job_.pack.capacity;
  s.welcome.dp_size_multiple = job_.pack.dp_size_multiple;
  s.welcome.epochs = job_.epochs;
  s.welcome.warn_after_ms = 30'000;
  s.welcome.fail_after_ms = 600'000;
  s.times = job_.deliver.times;
  return s;
}

SubscriberSettings Line::rank_settings(std::uint32_t rank, std::uint32_t peer) {
  SubscriberSettings s;
  s.dp_rank = rank;
  s.dp_size = job_.deliver.dp_size;
  s.peer = peer;
  s.session = {0, 10'000, rng_.next()};
  s.room = options_.room > 0 ? options_.room : static_cast<std::uint32_t>(1 + rng_.below(8));
  s.endpoint = fmt::format("sink {}", rank);
  s.times = job_.deliver.times;
  return s;
}

void Line::fail_with(ExitCode code, std::string text) {
  if (trouble_) trouble_ = fail(code, std::move(text));
}

void Line::post(const Message& m, std::function<void(Message)> what) {
  ++result_.messages;
  later([this, frames = encode(m), what = std::move(what)] {
    Result<Message> arrived = decode(frames);
    if (arrived)
      what(std::move(*arrived));
    else
      fail_with(ExitCode::kBug, "a message cannot be read: " + arrived.error().text);
  });
}

// A role may end of itself, with exit 0; what comes for it afterwards comes to nobody.
template <typename Role>
void Line::check_exit(Role& role, const std::string& name) {
  const auto& exit = role.machine.exit();
  if (role.over || !exit) return;
  role.over = true;
  if (exit->code != ExitCode::kDone)
    fail_with(ExitCode::kBug,
              fmt::format("{} ends with {}: {}", name, static_cast<int>(exit->code), exit->text));
}

void Line::act(Producing& p) {
  for (const ReadRequest& request : p.machine.take_reads(now_))
    later([this, &p, request] { made(p, request); });
  p.machine.dispatch(now_, [this](const Window& w) {
    Packing& to = *packers_[rng_.below(packers_.size())];
    if (to.over) return false;
    post(w, [this, &to](Message m) { pack(to, std::get<Window>(m)); });
    return true;
  });
}

void Line::made(Producing& p, const ReadRequest& request) {
  if (p.over) return;
  std::vector<Loss> losses;
  auto closed = p.maker->make(request.lane, request.place, losses);
  if (!closed) return fail_with(closed.error().code, closed.error().text);
  Window w;
  w.key = closed->key;
  w.before = closed->before;
  w.after = closed->after;
  w.last = closed->last;
  w.packs = closed->packs;
  w.ledger = closed->ledger;
  w.samples = std::move(closed->samples);
  closed->samples = {};
  const auto [known, is_new] = result_.windows.emplace(closed->key, *closed);
  if (!is_new && (known->second.after != closed->after || known->second.packs != closed->packs ||
                  known->second.ledger != closed->ledger))
    fail_with(ExitCode::kBug, "a window that was made twice differs");
  p.machine.on_window(request.ticket, std::move(w), now_);
  act(p);
}

void Line::pack(Packing& p, const Window& w) {
  if (p.over) return;
  auto slices = p.machine.on_window(w, now_);
  if (!slices) return fail_with(ExitCode::kBug, slices.error().text);
  for (PackedSlice& s : *slices) {
    for (std::size_t i = 0; i < s.packs.size(); ++i)
      s.slice.parts[i].frames = encode_samples(s.packs[i]);
    Sinking& to = *sinks_[static_cast<std::size_t>(std::stoul(s.endpoint))];
    post(s.slice, [this, &to](Message m) {
      if (to.over) return;
      to.machine.on_slice(std::get<Slice>(std::move(m)), now_);
      act(to);
    });
  }
}

void Line::act(Sinking& s) {
  for (SinkOutput& out : s.machine.take_outputs()) {
    if (auto* t = std::get_if<ToTrainer>(&out)) {
      Rank& to = *ranks_[static_cast<std::size_t>(std::stoul(t->address))];
      post(t->message, [this, &to](Message m) {
        if (to.over) return;
        to.machine.on_message(std::move(m), now_);
        act(to);
        take(to);
      });
    } else {
      auto& report = std::get<ToProducer>(out);
      Producing& to = *producers_[report.producer];
      post(report.report, [this, &to](Message m) {
        if (to.over) return;
        to.machine.on_report(std::get<Report>(m), now_);
        act(to);
      });
    }
  }
}

void Line::act(Rank& r) {
  const auto number = r.dp_rank * job_.deliver.ranks_per_dp_rank + r.peer;
  for (const Subscribe& s : r.machine.take_outputs()) {
    Sinking& to = *sinks_[r.dp_rank];
    post(s, [this, &to, number](Message m) {
      if (to.over) return;
      to.machine.on_subscribe(std::to_string(number), std::get<Subscribe>(m), now_);
      act(to);
    });
  }
}

// The rank uses what it has, soon, the end included; the digest is computed again from what
// arrived.
void Line::take(Rank& r) {
  later([this, &r] {
    const std::optional<Pack> p = r.machine.take(now_);
    if (!p) return;
    Result<Samples> samples = decode_samples(p->body.frames);
    if (!samples)
      return fail_with(ExitCode::kBug, "a pack cannot be read: " + samples.error().text);
    const std::uint64_t digest = pack_digest(p->at.epoch, p->at.window, p->at.pack, *samples);
    if (digest != p->body.digest || p->dp_rank != r.dp_rank)
      fail_with(ExitCode::kBug, "a pack is not what its header says");
    r.taken.push_back(
        {r.taken.size(), p->at, r.dp_rank, digest, std::move(*samples), p->body.frames});
    act(r);
    take(r);
  });
}

// As in training: the last checkpoint is safe when all have come to the end.
void Line::finish_when_all_ended() {
  if (!std::ranges::all_of(ranks_, [](const auto& r) { return r->machine.ended(); })) return;
  for (auto& r : ranks_) {
    if (r->finished) continue;
    r->finished = true;
    r->machine.finish(now_);
    act(*r);
  }
}

void Line::tick_all() {
  now_ += kTick;
  ++ticks_;
  finish_when_all_ended();
  for (std::size_t i = 0; i < producers_.size(); ++i) {
    Producing& p = *producers_[i];
    p.machine.tick(now_);
    check_exit(p, fmt::format("producer {}", i));
    if (p.over) continue;
    act(p);
    if (ticks_ % kTicksANotice != 1) continue;
    const Message notice = p.machine.notice(static_cast<std::uint32_t>(packers_.size()), now_);
    for (auto& to : packers_)
      post(notice, [this, &q = *to](Message m) { q.machine.on_notice(std::get<Notice>(m), now_); });
    for (auto& to : sinks_)
      post(notice, [this, &q = *to](Message m) {
        if (q.over) return;
        q.machine.on_notice(std::get<Notice>(m), now_);
        act(q);
      });
  }
  for (auto& p : packers_) {
    p->machine.tick(now_);
    check_exit(*p, "a packer");
  }
  for (auto& s : sinks_) {
    s->machine.tick(now_);
    if (!s->over) act(*s);
    check_exit(*s, "a sink");
  }
  for (auto& r : ranks_) {
    r->machine.tick(now_);
    if (!r->over) act(*r);
    check_exit(*r, fmt::format("rank {}", r->dp_rank));
    if (!r->over) take(*r);
  }
}

bool Line::all_over() const {
  const auto over = [](const auto& role) { return role->over; };
  return std::ranges::all_of(producers_, over) && std::ranges::all_of(packers_, over) &&
         std::ranges::all_of(sinks_, over) && std::ranges::all_of(ranks_, over);
}

// Ranks that share a sink see the same packs; all ranks are told the same ledgers.
void Line::check_peers() {
  const auto same = [](const TakenPack& a, const TakenPack& b) {
    return a.at == b.at && a.digest == b.digest;
  };
  for (const auto& r : ranks_) {
    const Rank& first = *ranks_[r->dp_rank * job_.deliver.ranks_per_dp_rank];
    if (!std::ranges::equal(r->taken, first.taken, same))
      fail_with(ExitCode::kBug, "ranks that share a sink got different packs");
    if (r->machine.progress().total.ledger != ranks_[0]->machine.progress().total.ledger)
      fail_with(ExitCode::kBug, "ranks were told different ledgers");
  }
}

std::uint64_t Line::packs_taken() const {
  std::uint64_t packs = 0;
  for (const auto& r : ranks_) packs += r->taken.size();
  return packs;
}

Result<LineResult> Line::run() {
  while (!all_over() && trouble_) {
    if (under_way_.empty()) {
      const std::uint64_t taken = packs_taken();
      if (taken != packs_at_tick_) {
        packs_at_tick_ = taken;
        idle_since_ = ticks_;
      }
      if (ticks_ - idle_since_ == kTicksMax) fail_with(ExitCode::kBug, "the line does not end");
      tick_all();
      continue;
    }
    std::swap(under_way_[rng_.below(under_way_.size())], under_way_.back());
    const std::function<void()> what = std::move(under_way_.back());
    under_way_.pop_back();
    what();
  }
  if (trouble_) check_peers();
  if (!trouble_) return tl::unexpected(trouble_.error());
  for (auto& r : ranks_) {
    if (r->peer > 0) continue;
    std::ranges::move(r->taken, std::back_inserter(result_.packs));
  }
  result_.epochs = ranks_[0]->machine.progress().epochs;
  return std::move(result_);
}

}  // namespace packline::reference

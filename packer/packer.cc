#include "packer/packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "lib/delivery/digest.h"
#include "lib/sample/parts.h"

namespace packline {
namespace {

std::string name_of_window(const WindowKey& k, std::uint32_t lanes) {
  return fmt::format("window {} of epoch {} (lane {})", k.index * lanes + k.lane, k.epoch, k.lane);
}

PackBody body_of(const WindowKey& key, std::uint64_t window, std::uint32_t index,
                 const Samples& pack) {
  PackBody b;
  b.digest = pack_digest(key.epoch, window, index, pack);
  b.samples = static_cast<std::uint32_t>(pack.size());
  b.tokens = static_cast<std::uint32_t>(pack.tokens());
  return b;
}

}  // namespace

Packer::Packer(PackerSettings settings, Instant now)
    : settings_(std::move(settings)), started_(now), heard_any_(now), last_window_(now) {}

// What the window promises, held against the job: it comes over a socket.
Status Packer::check(const Window& w) {
  const auto bad = [&](const std::string& why) {
    ++counters_.refused_bad;
    return fail(ExitCode::kBug,
                fmt::format("{} was refused: {}; is every role of the same version and job?",
                            name_of_window(w.key, settings_.job.lanes), why));
  };
  const PackSettings& pack = settings_.pack;
  if (w.key.lane >= settings_.job.lanes)
    return bad(fmt::format("the job has no lane {}", w.key.lane));
  if (w.envelope.dp_size == 0 || w.packs.size() % w.envelope.dp_size != 0)
    return bad(fmt::format("{} packs cannot be dealt over dp_size {}", w.packs.size(),
                           w.envelope.dp_size));
  if (w.packs.size() > pack.packs_per_window)
    return bad(fmt::format("it claims {} packs, pack.packs_per_window is {}", w.packs.size(),
                           pack.packs_per_window));
  std::set<std::uint32_t> ranks;
  for (const Destination& d : w.to) {
    if (d.dp_rank >= w.envelope.dp_size)
      return bad(fmt::format("it names dp_rank {} of dp_size {}", d.dp_rank, w.envelope.dp_size));
    if (!ranks.insert(d.dp_rank).second)
      return bad(fmt::format("it names dp_rank {} twice", d.dp_rank));
  }
  std::size_t next = 0;
  for (std::size_t k = 0; k < w.packs.size(); ++k) {
    if (w.packs[k] > w.samples.size() - next)
      return bad(fmt::format("its packs have more samples than it has: {}", w.samples.size()));
    std::uint64_t tokens = 0;
    for (std::uint32_t i = 0; i < w.packs[k]; ++i) tokens += w.samples.lengths[next++];
    if (tokens > pack.capacity)
      return bad(
          fmt::format("pack {} has {} tokens, pack.capacity is {}", k, tokens, pack.capacity));
  }
  if (next != w.samples.size())
    return bad(fmt::format("its packs have {} samples, it has {}", next, w.samples.size()));
  return {};
}

Result<std::vector<PackedSlice>> Packer::on_window(const Window& w, Instant now) {
  heard_any_ = last_window_ = now;
  if (w.envelope.job != settings_.job.fingerprint) {
    ++counters_.refused_other_job;
    return fail(
        ExitCode::kWrongJob,
        fmt::format("a window of another job ({:016x}, this packer packs {:016x}) was refused: "
                    "give all roles the same job file and data",
                    w.envelope.job, settings_.job.fingerprint));
  }
  if (const Status ok = check(w); !ok) return tl::unexpected<Error>(ok.error());
  const std::uint64_t window = w.key.index * settings_.job.lanes + w.key.lane;
  const auto packs = static_cast<std::uint32_t>(w.packs.size());
  const std::uint32_t dp_size = w.envelope.dp_size;
  std::vector<Samples> all = runs_of(w.samples, w.packs);
  std::vector<PackedSlice> slices;
  slices.reserve(w.to.size());
  for (const Destination& d : w.to) {
    PackedSlice s;
    s.endpoint = d.endpoint;
    s.slice = {w.envelope, w.key, w.before, w.after, w.last, packs, d.dp_rank, w.ledger, {}};
    for (std::uint32_t k = d.dp_rank; k < packs; k += dp_size) {
      s.packs.push_back(std::move(all[k]));
      s.slice.parts.push_back(body_of(w.key, window, k, s.packs.back()));
    }
    counters_.packs += s.packs.size();
    ++counters_.slices;
    slices.push_back(std::move(s));
  }
  ++counters_.windows;
  return slices;
}

void Packer::on_notice(const Notice& n, Instant now) {
  if (n.envelope.job != settings_.job.fingerprint) {
    ++counters_.refused_other_job;
    return;
  }
  if (n.producer >= settings_.producers) return;
  heard_any_ = now;
  heard_[n.producer] = now;
  if (n.finished) finished_.insert(n.producer);
}

void Packer::tick(Instant now) {
  if (exit_) return;
  if (finished_.size() == settings_.producers)
    exit_ = Exit{ExitCode::kDone, "every producer has finished"};
  else if (now - heard_any_ > settings_.times.fail_after)
    exit_ =
        Exit{ExitCode::kUnreachable,
             fmt::format("packer: no producer has been heard for {}: start the producers, or check "
                         "that this packer can reach their addresses",
                         in_words(now - heard_any_))};
}

std::vector<Wait> Packer::waits(Instant now) const {
  std::vector<Wait> waits;
  if (exit_) return waits;
  const auto ms = [&](Instant then) { return static_cast<std::uint64_t>(to_ms(now - then)); };
  for (std::uint32_t i = 0; i < settings_.producers; ++i) {
    if (finished_.contains(i)) continue;
    const auto it = heard_.find(i);
    if (it == heard_.end())
      waits.push_back({"its first notice", fmt::format("producer {}", i), ms(started_)});
    else if (now - it->second > settings_.times.silent)
      waits.push_back({"a notice", fmt::format("producer {}", i), ms(it->second)});
  }
  // Where every producer is heard there is nothing to pack; what hinders them they say themselves.
  waits.push_back({"a window", "any producer", ms(last_window_), waits.empty()});
  return waits;
}

}  // namespace packline

#include "lib/encoders/record_dispatch.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/check.h"
#include "lib/wire/codec.h"

namespace packline {
namespace {

constexpr std::uint32_t kRoomMax = 64;  // batches at one encoder, whatever it says
constexpr unsigned kDoublingsMax = 3;   // of a lease

Encoded killed(std::string text) {
  Encoded e;
  e.lost = true;
  e.reason = RecordLoss::kEncoderKilled;
  e.text = std::move(text);
  return e;
}

tl::unexpected<Error> no_outcome(std::string text) {
  return fail(ExitCode::kUnreachable, std::move(text));
}

}  // namespace

Result<Encoded> encoded_of(const RecordOutcome& outcome, const std::string& record_id) {
  Encoded e;
  if (!outcome.lost.empty()) {
    if (outcome.lost != "parse" && outcome.lost != "encode")
      return no_outcome(fmt::format("a record cannot be lost as \"{}\"", outcome.lost));
    e.lost = true;
    e.reason = outcome.lost == "parse" ? RecordLoss::kParse : RecordLoss::kEncode;
    e.text = outcome.text;
    return e;
  }
  const std::string id = outcome.id.empty() ? record_id : outcome.id + "@" + record_id;
  std::vector<Samples> parts;
  for (std::size_t k = 0; k < outcome.samples.size(); ++k) {
    Result<Samples> sample = decode_samples(outcome.samples[k]);
    if (!sample) return tl::unexpected(sample.error());
    if (sample->size() != 1)
      return no_outcome(fmt::format("{} samples came where one was expected", sample->size()));
    sample->ids[0] = outcome.samples.size() == 1 ? id : fmt::format("{}/{}", id, k);
    parts.push_back(std::move(*sample));
  }
  if (parts.empty()) return e;
  Result<Samples> all = concatenate(parts);
  if (!all) {  // the samples of one record do not go together: the function's doing
    e.lost = true;
    e.reason = RecordLoss::kEncode;
    e.text = all.error().text;
    return e;
  }
  e.samples = std::move(*all);
  return e;
}

void RecordDispatch::submit(std::uint64_t group, std::vector<DispatchRecord> records, Instant now) {
  const auto [at, fresh] = groups_.try_emplace(group);
  PL_CHECK(fresh);
  Group& g = at->second;
  g.since = now;
  g.missing = records.size();
  g.records.reserve(records.size());
  for (DispatchRecord& r : records) g.records.push_back({std::move(r), {}, std::nullopt});
  if (ready_.empty()) waiting_since_ = now;
  if (g.missing == 0) {
    done_.push_back(group);
    return;
  }
  ready_.insert({group, 0, static_cast<std::uint32_t>(g.missing)});
}

void RecordDispatch::drop(const std::function<bool(std::uint64_t)>& unwanted) {
  std::erase_if(groups_, [&](const auto& g) { return unwanted(g.first); });
  std::erase_if(ready_, [&](const Part& p) { return !alive(p); });
  std::erase_if(sent_before_, [&](const Part& p) { return !alive(p); });
  std::erase_if(done_, [&](std::uint64_t g) { return !groups_.contains(g); });
}

bool RecordDispatch::alive(const Part& part) const { return groups_.contains(part.group); }

// Whether a record of it still lacks its result.
bool RecordDispatch::wanted(const Part& part) const {
  const auto at = groups_.find(part.group);
  if (at == groups_.end()) return false;
  for (std::uint32_t i = 0; i < part.count; ++i)
    if (!at->second.records[part.first + i].result) return true;
  return false;
}

void RecordDispatch::resolve(std::uint64_t group, std::uint32_t record, Encoded encoded) {
  const auto at = groups_.find(group);
  if (at == groups_.end()) return;
  Record& r = at->second.records[record];
  if (r.result) return;
  r.result = std::move(encoded);
  if (--at->second.missing == 0) done_.push_back(group);
}

std::optional<RecordDispatch::Done> RecordDispatch::take() {
  if (done_.empty()) return std::nullopt;
  const std::uint64_t group = done_.front();
  done_.pop_front();
  const auto at = groups_.find(group);
  PL_CHECK(at != groups_.end());
  Done done{group, {}};
  done.records.reserve(at->second.records.size());
  for (Record& r : at->second.records) done.records.push_back(std::move(*r.result));
  groups_.erase(at);
  std::erase_if(ready_, [&](const Part& p) { return p.group == group; });
  std::erase_if(sent_before_, [&](const Part& p) { return p.group == group; });
  return done;
}

// The part goes out once more, in the smallest pieces that its strikes ask for.
void RecordDispatch::again(const Part& part) {
  const auto at = groups_.find(part.group);
  if (at == groups_.end()) return;
  bool suspect = false;
  for (std::uint32_t i = 0; i < part.count; ++i)
    suspect = suspect || !at->second.records[part.first + i].strikes.empty();
  if (!suspect) {
    if (wanted(part)) ready_.insert(part);
    return;
  }
  for (std::uint32_t i = 0; i < part.count; ++i)
    if (!at->second.records[part.first + i].result) ready_.insert({part.group, part.first + i, 1});
}

std::string RecordDispatch::sentence(const std::vector<Strike>& strikes) {
  std::string text = fmt::format("{} encoder processes ended over it: ", strikes.size());
  for (std::size_t i = 0; i < strikes.size(); ++i) text += (i > 0 ? ", " : "") + strikes[i].text;
  return text;
}

void RecordDispatch::strike(const Part& part, const Strike& strike) {
  const auto at = groups_.find(part.group);
  if (at == groups_.end()) return;
  for (std::uint32_t i = 0; i < part.count; ++i) {
    Record& r = at->second.records[part.first + i];
    if (r.result) continue;
    r.strikes.push_back(strike);
    if (r.strikes.size() < kStrikesMax) continue;
    ++counters_.records_killed;
    resolve(part.group, part.first + i, killed(sentence(r.strikes)));
  }
}

void RecordDispatch::forgive(std::uint64_t session) {
  for (auto& [number, group] : groups_)
    for (Record& r : group.records)
      std::erase_if(r.strikes, [&](const Strike& s) { return s.silent && s.session == session; });
}

std::size_t RecordDispatch::out_at(const std::string& peer) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(out_, [&](const auto& o) { return o.second.peer == peer; }));
}

void RecordDispatch::on_state(const std::string& peer, const EncoderState& s, Instant now) {
  Encoder& e = encoders_[peer];
  if (e.session == s.session && s.seq <= e.seq) return;
  if (e.session != 0 && e.session != s.session) give_up(peer, e, now);
  if (e.gone && e.session == s.session) forgive(s.session);
  const bool refused_before = !e.refused.empty();
  e = {s.session, s.seq, s.name, {}, now, std::min(s.room, kRoomMax), {}, s.working_ms, false};
  if (s.encoder != settings_.encoder) {
    if (!refused_before) ++counters_.refused;
    e.refused = fmt::format(
        "this producer wants the encoder \"{}\", and this one is \"{}\": give both the same job "
        "file",
        settings_.encoder, s.encoder);
    return;
  }
  if (s.producer != settings_.session) return;  // what it says of batches is of another life
  e.held = s.held;
  // What arrived there and is not held was answered, or struck, before this; or it is lost.
  std::vector<Part> lost;
  std::erase_if(out_, [&](const auto& o) {
    const bool gone = o.second.peer == peer && o.first <= s.taken &&
                      std::ranges::find(s.held, o.first) == s.held.end();
    if (gone) lost.push_back(o.second.part);
    return gone;
  });
  for (const Part& part : lost) again(part);
}

void RecordDispatch::on_encoded(const std::string& peer, const EncodedBatch& batch, Instant now) {
  if (batch.producer != settings_.session) return;
  const auto at = out_.find(batch.number);
  if (at == out_.end() || at->second.peer != peer) {
    ++counters_.answers_late;
    return;
  }
  const Part part = at->second.part;
  out_.erase(at);
  if (auto e = encoders_.find(peer); e != encoders_.end()) {
    e->second.heard = now;
    std::erase(e->second.held, batch.number);
  }
  const auto group = groups_.find(part.group);
  if (group == groups_.end()) return;
  std::vector<Encoded> results;
  std::string wrong;
  if (batch.records.size() != part.count)
    wrong = fmt::format("{} records came back of {}", batch.records.size(), part.count);
  for (std::uint32_t i = 0; i < part.count && wrong.empty(); ++i) {
    Result<Encoded> encoded =
        encoded_of(batch.records[i], group->second.records[part.first + i].record.header.id);
    if (encoded) {
      results.push_back(std::move(*encoded));
    } else {
      wrong = encoded.error().text;
    }
  }
  if (!wrong.empty()) {
    ++counters_.refused;
    if (auto e = encoders_.find(peer); e != encoders_.end())
      e->second.refused = "its answer is none that an encoder may give: " + wrong;
    return again(part);
  }
  for (std::uint32_t i = 0; i < part.count; ++i)
    resolve(part.group, part.first + i, std::move(results[i]));
}

void RecordDispatch::on_struck(const std::string& peer, const Struck& s, Instant now) {
  if (s.producer != settings_.session) return;
  const auto at = out_.find(s.number);
  if (at == out_.end() || at->second.peer != peer) return;
  const Part part = at->second.part;
  out_.erase(at);
  ++counters_.encoders_lost;
  std::string name = "an encoder";
  if (auto e = encoders_.find(peer); e != encoders_.end()) {
    e->second.heard = now;
    std::erase(e->second.held, s.number);
    e->second.working_ms = 0;  // on nothing, until it has another process
    name = e->second.name;
  }
  strike(part, {s.session, false, fmt::format("{} ({})", s.text, name)});
  again(part);
}

// Nobody knows whether it lives. What it worked on may have ended it.
void RecordDispatch::give_up(const std::string& peer, Encoder& e, Instant) {
  if (!e.gone) ++counters_.encoders_silent;
  e.gone = true;
  std::vector<std::pair<std::uint64_t, Part>> parts;
  for (const auto& [number, out] : out_)
    if (out.peer == peer) parts.emplace_back(number, out.part);
  for (const auto& [number, part] : parts) {
    out_.erase(number);
    if (e.working_ms > 0 && !e.held.empty() && e.held.front() == number)
      strike(part, {e.session, true, fmt::format("no word from it any more ({})", e.name)});
    again(part);
  }
  e.held.clear();
}

void RecordDispatch::tick(Instant now) {
  for (auto& [peer, e] : encoders_)
    if (!e.gone && now - e.heard >= settings_.silent) give_up(peer, e, now);
  // A strike can be taken back only as long as the encoder is remembered.
  std::erase_if(encoders_, [&](const auto& e) {
    return e.second.gone && now - e.second.heard >= 100 * settings_.silent;
  });
  // What never arrived, at an encoder that speaks.
  std::vector<Part> lost;
  std::erase_if(out_, [&](const auto& o) {
    const auto e = encoders_.find(o.second.peer);
    const bool held =
        e != encoders_.end() && std::ranges::find(e->second.held, o.first) != e->second.held.end();
    const bool gone = !held && now - o.second.sent >= settings_.silent;
    if (gone) lost.push_back(o.second.part);
    return gone;
  });
  for (const Part& part : lost) again(part);
}

// The one with the most room, of those that speak.
RecordDispatch::Encoder* RecordDispatch::next_encoder(const std::set<std::string>& blocked,
                                                      std::string& peer) {
  Encoder* best = nullptr;
  std::size_t least = 0;
  for (auto& [name, e] : encoders_) {
    if (e.gone || !e.refused.empty() || blocked.contains(name)) continue;
    const std::size_t out = out_at(name);
    if (out >= e.room || (best != nullptr && out >= least)) continue;
    best = &e;
    least = out;
    peer = name;
  }
  return best;
}

std::uint32_t RecordDispatch::overruns(const Part& part) const {
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < part.count; ++i)
    most = std::max(most, groups_.at(part.group).records[part.first + i].strikes.size());
  return static_cast<std::uint32_t>(most);
}

RecordBatch RecordDispatch::batch_of(const Part& part) const {
  RecordBatch batch;
  batch.session = settings_.session;
  batch.lease_ms = static_cast<std::uint64_t>(to_ms(settings_.lease))
                   << std::min(overruns(part), kDoublingsMax);
  const Group& group = groups_.at(part.group);
  for (std::uint32_t i = 0; i < part.count; ++i) {
    const DispatchRecord& record = group.records[part.first + i].record;
    auto source = std::ranges::find(batch.sources, record.source);
    if (source == batch.sources.end()) source = batch.sources.insert(source, record.source);
    batch.records.push_back(record.header);
    batch.records.back().source = static_cast<std::uint32_t>(source - batch.sources.begin());
    batch.bytes.push_back(record.bytes);
  }
  return batch;
}

void RecordDispatch::dispatch(Instant now, const Send& try_send) {
  std::set<std::string> blocked;
  while (!ready_.empty()) {
    const Part part = *ready_.begin();
    if (!wanted(part)) {
      ready_.erase(part);
      continue;
    }
    std::string peer;
    if (next_encoder(blocked, peer) == nullptr) break;
    RecordBatch batch = batch_of(part);
    batch.number = next_number_;
    if (!try_send(peer, batch)) {
      blocked.insert(peer);
      continue;
    }
    ++next_number_;
    ++counters_.batches_sent;
    if (!sent_before_.insert(part).second) ++counters_.batches_sent_again;
    out_.emplace(batch.number, Out{part, peer, now});
    ready_.erase(part);
  }
  if (ready_.empty() || encoders(now) > 0) waiting_since_ = now;
}

std::vector<std::pair<std::string, ProducerWord>> RecordDispatch::words(bool finished,
                                                                        Instant now) const {
  std::vector<std::pair<std::string, ProducerWord>> out;
  for (const auto& [peer, e] : encoders_) {
    if (e.gone || now - e.heard >= settings_.silent) continue;
    ProducerWord word;
    word.session = settings_.session;
    word.finished = finished;
    word.refused = e.refused;
    out.emplace_back(peer, std::move(word));
  }
  return out;
}

std::size_t RecordDispatch::encoders(Instant now) const {
  return static_cast<std::size_t>(std::ranges::count_if(encoders_, [&](const auto& e) {
    return !e.second.gone && e.second.refused.empty() && now - e.second.heard < settings_.silent;
  }));
}

std::vector<Wait> RecordDispatch::waits(Instant now) const {
  if (groups_.empty()) return {};
  if (encoders(now) == 0 && !ready_.empty()) {
    std::string whom = "an encoder process: none is connected (start packline-encode)";
    for (const auto& [peer, e] : encoders_)
      if (!e.refused.empty())
        whom = fmt::format("an encoder process; {} was refused: {}", e.name, e.refused);
    return {{"records to be encoded", whom, elapsed_ms(waiting_since_, now), false}};
  }
  std::vector<Wait> out;
  for (const auto& [peer, e] : encoders_) {
    if (e.gone || e.held.empty()) continue;
    const auto at = out_.find(e.held.front());
    if (at == out_.end() || !alive(at->second.part)) continue;
    const Part& part = at->second.part;
    const auto& records = groups_.at(part.group).records;
    const std::string more =
        part.count > 1 ? fmt::format(" and {} more", part.count - 1) : std::string();
    out.push_back({fmt::format("record {}{} to be encoded", records[part.first].record.where, more),
                   "encoder " + e.name, e.working_ms + elapsed_ms(e.heard, now), false});
  }
  return out;
}

}  // namespace packline

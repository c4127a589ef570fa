#include "lib/telemetry/progress_json.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "lib/base/hex16.h"
#include "lib/telemetry/json_integer.h"

namespace packline {
namespace {

using PlainJson = nlohmann::json;

PlainJson to_json(const StreamPoint& p) { return {p.epoch, p.window, p.pack}; }

std::uint64_t number(const PlainJson& j) { return json_integer<std::uint64_t>(j); }

void read(const PlainJson& j, std::uint64_t& field) { field = number(j); }

template <std::size_t N>
void read(const PlainJson& j, std::array<std::uint64_t, N>& fields) {
  for (std::size_t i = 0; i < N; ++i) fields[i] = number(j.at(i));
}

StreamPoint point_from(const PlainJson& j) {
  return {number(j.at(0)), number(j.at(1)), number(j.at(2))};
}

PlainJson to_json(const Ledger& l) {
  PlainJson out;
  each_field([&out](const char* name, const auto& field) { out[name] = field; }, l);
  return out;
}

Ledger ledger_from(const PlainJson& j) {
  Ledger l;
  each_field([&j](const char* name, auto& field) { read(j.at(name), field); }, l);
  return l;
}

PlainJson to_json(const Tally& t) {
  return {{"packs", t.packs},
          {"samples", t.samples},
          {"tokens", t.tokens},
          {"digest", hex16(t.digest)},
          {"ledger", to_json(t.ledger)}};
}

Tally tally_from(const PlainJson& j) {
  Tally t;
  t.packs = number(j.at("packs"));
  t.samples = number(j.at("samples"));
  t.tokens = number(j.at("tokens"));
  t.digest = std::stoull(j.at("digest").get<std::string>(), nullptr, 16);
  t.ledger = ledger_from(j.at("ledger"));
  return t;
}

}  // namespace

std::string progress_to_json(const RankProgress& p) {
  PlainJson epochs = PlainJson::array();
  for (const EpochTally& e : p.progress.epochs) {
    PlainJson j = to_json(e.tally);
    j["epoch"] = e.epoch;
    epochs.push_back(std::move(j));
  }
  const PlainJson out = {{"job", hex16(p.job)},
                         {"dp_rank", p.dp_rank},
                         {"done", p.done},
                         {"from", to_json(p.progress.from)},
                         {"to", to_json(p.progress.to)},
                         {"total", to_json(p.progress.total)},
                         {"epochs", std::move(epochs)}};
  return out.dump() + "\n";
}

Result<RankProgress> progress_from_json(std::string_view text) {
  try {
    const PlainJson j = PlainJson::parse(text);
    RankProgress p;
    p.job = std::stoull(j.at("job").get<std::string>(), nullptr, 16);
    p.dp_rank = json_integer<std::uint32_t>(j.at("dp_rank"));
    p.done = j.at("done");
    p.progress.from = point_from(j.at("from"));
    p.progress.to = point_from(j.at("to"));
    p.progress.total = tally_from(j.at("total"));
    for (const PlainJson& e : j.at("epochs")) {
      p.progress.epochs.push_back({number(e.at("epoch")), tally_from(e)});
    }
    return p;
  } catch (const std::exception& e) {
    return fail(ExitCode::kBug, fmt::format("a sink's progress file cannot be read: {}", e.what()));
  }
}

}  // namespace packline

#include "lib/telemetry/progress_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/base/hex16.h"

namespace packline {
namespace {

using PlainJson = nlohmann::json;

PlainJson to_json(const StreamPoint& p) { return {p.epoch, p.window, p.pack}; }

StreamPoint point_from(const PlainJson& j) { return {j.at(0), j.at(1), j.at(2)}; }

PlainJson to_json(const Ledger& l) {
  PlainJson out;
  each_field([&out](const char* name, const auto& field) { out[name] = field; }, l);
  return out;
}

Ledger ledger_from(const PlainJson& j) {
  Ledger l;
  each_field([&j](const char* name, auto& field) { j.at(name).get_to(field); }, l);
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
  t.packs = j.at("packs");
  t.samples = j.at("samples");
  t.tokens = j.at("tokens");
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
    p.dp_rank = j.at("dp_rank");
    p.done = j.at("done");
    p.progress.from = point_from(j.at("from"));
    p.progress.to = point_from(j.at("to"));
    p.progress.total = tally_from(j.at("total"));
    for (const PlainJson& e : j.at("epochs")) {
      p.progress.epochs.push_back({e.at("epoch"), tally_from(e)});
    }
    return p;
  } catch (const std::exception& e) {
    return fail(ExitCode::kBug, fmt::format("a sink's progress file cannot be read: {}", e.what()));
  }
}

}  // namespace packline

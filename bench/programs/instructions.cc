// What bench/instructions counts: fixed work, the same every time. Only what runs inside a
// `measured_...` function is counted.
//
//   bench_instructions planning|codec|sink

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/programs/lane_driver.h"
#include "lib/base/random.h"
#include "lib/wire/codec.h"
#include "sink/sink.h"

// Not inlined and not renamed, so that they can be found by name.
#define PACKLINE_MEASURED extern "C" __attribute__((noinline, noclone, used))

namespace packline::bench {
namespace {

// Skewed like a chat set: most samples short, some near 2,048 tokens.
std::vector<std::uint32_t> lengths(std::size_t n) {
  Rng rng(4);
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < n; ++i)
    all.push_back(static_cast<std::uint32_t>(1 + rng.below(1 + rng.below(2048))));
  return all;
}

Samples samples(std::size_t n) {
  Samples s;
  s.lengths = lengths(n);
  std::vector<std::int32_t> ids;
  std::vector<std::uint32_t> spans;
  for (std::size_t i = 0; i < n; ++i) {
    s.ids.push_back("s0:" + std::to_string(i));
    for (std::uint32_t t = 0; t < s.lengths[i]; ++t) ids.push_back(static_cast<std::int32_t>(t));
    spans.push_back(s.lengths[i] / 3);
    spans.push_back(s.lengths[i]);
  }
  s.columns.push_back(
      {"input_ids", DType::kI32, ColumnKind::kPerToken, {}, Buffer::of(std::move(ids)), {}});
  s.columns.push_back({"labels",
                       DType::kI32,
                       ColumnKind::kSpans,
                       {},
                       Buffer::of(std::move(spans)),
                       std::vector<std::uint32_t>(n, 1)});
  return s;
}

Window window() {
  constexpr std::uint32_t kPacks = 64, kSamplesOfPack = 8;
  Window w;
  w.envelope = {77, 1};
  w.before = "512.0.0";
  w.after = "1024.0.0,3.0.1";
  w.packs.assign(kPacks, kSamplesOfPack);
  w.to = {{0, "ipc:///run/line/sink-0.0"}};
  w.samples = samples(std::size_t{kPacks} * kSamplesOfPack);
  return w;
}

constexpr std::uint32_t kWindows = 40, kPacksOfWindow = 64;
constexpr JobShape kJob{77, 4, 1, 1};

Instant at_ms(std::uint64_t ms) { return Instant{std::chrono::milliseconds(ms)}; }

Slice slice(std::uint32_t w) {
  Slice s;
  s.envelope = {kJob.fingerprint, kJob.dp_size};
  s.key = {w % kJob.lanes, 0, w / kJob.lanes};
  const auto position = [](std::uint64_t i) { return i == 0 ? "" : std::to_string(i) + ".0.0"; };
  s.before = position(s.key.index);
  s.after = position(s.key.index + 1);
  s.last = w + kJob.lanes >= kWindows;
  s.packs = kPacksOfWindow;
  s.parts.assign(kPacksOfWindow, PackBody{1, 8, 8192, {}});
  return s;
}

SinkSettings sink_settings() {
  SinkSettings s;
  s.job = kJob;
  s.endpoint = "ipc:///run/line/sink-0.0";
  s.session = 9;
  s.welcome.capacity = 8192;
  return s;
}

}  // namespace

PACKLINE_MEASURED std::uint64_t measured_planning(const std::vector<std::uint32_t>& all) {
  PackSettings settings;
  settings.balance = Balance::kAttention;
  settings.dp_size_multiple = 8;
  LaneDriver lane(settings, all);
  std::uint64_t packs = 0;
  for (bool last = false; !last;) {
    const Closing& closing = lane.next();
    packs += closing.packs.size();
    last = closing.last;
  }
  return packs;
}

PACKLINE_MEASURED std::uint64_t measured_codec(const Window& w) {
  std::uint64_t found = 0;
  for (int i = 0; i < 20; ++i) {
    const Result<Message> back = decode(encode(w));
    if (!back) std::exit(3);
    found += std::get<Window>(*back).samples.size();
  }
  return found;
}

// A trainer that takes every pack and asks for the next ones as it goes, as the client does.
PACKLINE_MEASURED std::uint64_t measured_sink() {
  Sink sink(sink_settings(), at_ms(0));
  Subscribe ask;
  ask.envelope = {kJob.fingerprint, kJob.dp_size};
  ask.session = {0, 1, 0};
  ask.want = start_cursor(kJob);
  ask.room = 32;
  std::uint64_t packs = 0, ms = 0;
  sink.on_subscribe("trainer", ask, at_ms(0));  // before this it keeps nothing
  for (std::uint32_t w = 0; w < kWindows; ++w) {
    sink.on_slice(slice(w), at_ms(++ms));
    for (bool more = true; more;) {
      more = false;
      ++ask.seq;
      sink.on_subscribe("trainer", ask, at_ms(++ms));
      sink.tick(at_ms(ms));
      for (SinkOutput& out : sink.take_outputs()) {
        auto* to = std::get_if<ToTrainer>(&out);
        auto* pack = to == nullptr ? nullptr : std::get_if<Pack>(&to->message);
        if (pack == nullptr || pack->from != ask.want->point) continue;
        ask.want->point = pack->after;
        if (pack->lanes) ask.want->lanes = *pack->lanes;
        ++packs;
        more = true;
      }
    }
  }
  return packs;
}

}  // namespace packline::bench

int main(int argc, char** argv) {
  using namespace packline::bench;
  const std::string what = argc == 2 ? argv[1] : "";
  std::uint64_t found = 0;
  if (what == "planning") {
    found = measured_planning(lengths(40000));
  } else if (what == "codec") {
    found = measured_codec(window());
  } else if (what == "sink") {
    found = measured_sink();
    if (found != std::uint64_t{kWindows} * kPacksOfWindow) {
      std::fprintf(stderr, "%llu packs were served\n", static_cast<unsigned long long>(found));
      return 3;
    }
  } else {
    std::fputs("usage: bench_instructions planning|codec|sink\n", stderr);
    return 2;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(found));
  return 0;
}

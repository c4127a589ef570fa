#pragma once

#include <fmt/format.h>
#include <stdlib.h>

#include <atomic>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/random.h"
#include "lib/windows/window_maker.h"
#include "tests/unit/temp_folder.h"

// What the tests of this folder share: files in a folder of their own, an encoder whose records say
// what comes out of them, seeded random jobs, and windows as bytes.

namespace packline::test {

inline std::uint64_t sum(const auto& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A record is a line of lengths, "[3,0,700]": so many samples come out of it. A line that ends with
// "L" has labels as spans, one with "V" as values, one with "U" none that carries loss, one with
// "R" an image of two rows for each sample. A line that begins with "bad" cannot be parsed, one
// with "mad" cannot be encoded. Tokens follow from the record's seed.
class LengthsEncoder : public Encoder {
 public:
  Encoded encode(const EncodeRequest& request) const override {
    ++calls_;
    if (on_call) on_call();
    Encoded out;
    if (request.bytes.starts_with("bad") || request.bytes.starts_with("mad")) {
      out.lost = true;
      out.reason = request.bytes[0] == 'b' ? RecordLoss::kParse : RecordLoss::kEncode;
      out.text = "the record \"" + std::string(request.bytes) + "\" is not a list of lengths.";
      return out;
    }
    const std::vector<std::uint32_t> lengths = parse(request.bytes);
    out.samples.lengths = lengths;
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      out.samples.ids.push_back(lengths.size() == 1 ? request.id
                                                    : fmt::format("{}/{}", request.id, k));
    }
    add_columns(request, out.samples);
    return out;
  }
  std::string identity() const override { return "lengths"; }

  std::uint64_t calls() const { return calls_; }
  std::function<void()> on_call;

 private:
  static std::vector<std::uint32_t> parse(std::string_view text) {
    std::vector<std::uint32_t> lengths;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] < '0' || text[i] > '9') continue;
      std::uint32_t value = 0;
      const auto end = std::from_chars(text.data() + i, text.data() + text.size(), value).ptr;
      lengths.push_back(value);
      i = static_cast<std::size_t>(end - text.data());
    }
    return lengths;
  }

  static void add_columns(const EncodeRequest& request, Samples& samples) {
    const std::string_view kinds = request.bytes.substr(request.bytes.find(']') + 1);
    const auto has = [&](char c) { return kinds.find(c) != std::string_view::npos; };
    std::vector<std::int32_t> ids, labels;
    std::vector<std::uint32_t> spans, span_rows, image_rows;
    std::vector<float> image;
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const std::uint32_t length = samples.lengths[s];
      for (std::uint32_t t = 0; t < length; ++t) {
        ids.push_back(static_cast<std::int32_t>(derive(request.seed, {s, t}) % 50'000));
        labels.push_back(t % 3 == 0 ? kIgnore : ids.back());
      }
      span_rows.push_back(length > 1 && !has('U') ? 2 : 0);
      if (span_rows.back() > 0) spans.insert(spans.end(), {0, length / 2, length / 2, length});
      image_rows.push_back(2);
      for (int i = 0; i < 6; ++i) image.push_back(static_cast<float>(ids.size() + i));
    }
    if (has('R')) {
      samples.columns.push_back({"image",
                                 DType::kF32,
                                 ColumnKind::kRagged,
                                 {3},
                                 Buffer::of(std::move(image)),
                                 std::move(image_rows)});
    }
    samples.columns.push_back(
        {"input_ids", DType::kI32, ColumnKind::kPerToken, {}, Buffer::of(std::move(ids)), {}});
    if (has('L') || has('U')) {
      samples.columns.push_back({"labels",
                                 DType::kI32,
                                 ColumnKind::kSpans,
                                 {},
                                 Buffer::of(std::move(spans)),
                                 std::move(span_rows)});
    } else if (has('V')) {
      samples.columns.push_back(
          {"labels", DType::kI32, ColumnKind::kPerToken, {}, Buffer::of(std::move(labels)), {}});
    }
  }

  mutable std::atomic<std::uint64_t> calls_ = 0;
};

// A job over these files, one source each, whose records LengthsEncoder understands.
inline Job job_over(const TempFolder& folder, const std::vector<std::string>& files) {
  Job job;
  job.name = "test";
  job.state = folder.path() + "/state";
  for (const std::string& file : files) {
    SourceSettings source;
    source.pattern = file;
    source.files = {file};
    job.sources.push_back(source);
  }
  job.lanes = 2;
  job.seed = job.pack.seed = 17;
  job.pack.capacity = 16;
  job.pack.packs_per_window = 4;
  job.pack.lookahead_packs = 2;
  return job;
}

inline Result<std::vector<std::unique_ptr<Source>>> open_sources(const Job& job) {
  std::vector<std::unique_ptr<Source>> sources;
  for (const SourceSettings& settings : job.sources) {
    Result<std::unique_ptr<Source>> source = Source::open(settings, job.state);
    if (!source) return tl::unexpected<Error>(source.error());
    sources.push_back(std::move(*source));
  }
  return sources;
}

struct Made {
  std::unique_ptr<WindowMaker> maker;
  LengthsEncoder* encoder = nullptr;  // the maker's
};

inline Made maker_of(const Job& job, std::function<void()> on_call = nullptr) {
  auto encoder = std::make_unique<LengthsEncoder>();
  encoder->on_call = std::move(on_call);
  LengthsEncoder* raw = encoder.get();
  auto sources = open_sources(job);
  if (!sources) throw std::runtime_error(sources.error().text);
  return {WindowMaker::over(job, std::move(*sources), std::move(encoder)), raw};
}

// A window and its losses, as it was made.
struct Step {
  std::uint32_t lane = 0;
  Place place;
  ClosedWindow window;
  std::vector<Loss> losses;
};

// One epoch in the order of delivery.
inline std::vector<Step> walk(WindowMaker& maker, const Job& job, std::uint64_t epoch) {
  std::vector<Step> steps;
  Cursor cursor;
  cursor.point.epoch = epoch;
  cursor.lanes.assign(job.lanes, Place{epoch, 0, ""});
  while (cursor.point.epoch == epoch) {
    Step step;
    step.lane = lane_of(job.shape(), cursor);
    step.place = cursor.lanes[step.lane];
    Result<ClosedWindow> window = maker.make(step.lane, step.place, step.losses);
    if (!window) throw std::runtime_error(window.error().text);
    step.window = std::move(*window);
    cursor = after_window(job.shape(), cursor, step.window.after, step.window.last);
    steps.push_back(std::move(step));
  }
  return steps;
}

// Everything of a window and its losses, to be compared.
inline std::string bytes_of(const ClosedWindow& w, const std::vector<Loss>& losses) {
  std::string out;
  const auto number = [&](std::uint64_t n) { out += std::to_string(n) + " "; };
  const auto text = [&](std::string_view s) {
    number(s.size());
    out += s;
  };
  for (const std::uint64_t n :
       {std::uint64_t{w.key.lane}, w.key.epoch, w.key.index, std::uint64_t{w.last}}) {
    number(n);
  }
  for (const auto n : w.packs) number(n);
  text(w.before);
  text(w.after);
  const Ledger& l = w.ledger;
  for (const std::uint64_t n : {l.records_read, l.records_encoded, l.samples_made, l.tokens_made,
                                l.tokens_truncated, l.samples_repeated, l.tokens_repeated}) {
    number(n);
  }
  for (const auto n : l.records_lost) number(n);
  for (const auto n : l.samples_lost) number(n);
  for (const auto n : l.tokens_lost) number(n);
  for (const auto& id : w.samples.ids) text(id);
  for (const auto n : w.samples.lengths) number(n);
  for (const Column& c : w.samples.columns) {
    text(c.name);
    text(name_of(c.dtype));
    text(name_of(c.kind));
    for (const auto n : c.item_shape) number(n);
    for (const auto n : c.rows) number(n);
    text({reinterpret_cast<const char*>(c.data.data()), c.data.size()});
  }
  for (const Loss& loss : losses) {
    number(loss.window.index);
    number(loss.lane_record);
    number(loss.tokens);
    for (const auto& s : {loss.reason, loss.where, loss.id, loss.cause}) text(s);
  }
  return out;
}

// What a job may say about packing; see lib/config/packing_rules.cc for what goes with what.
inline void draw_packing(PackSettings& pack, Rng& rng) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
  pack.seed = rng.next();
  pack.strategy = below(3) == 0 ? Strategy::kBestFitDecreasing : static_cast<Strategy>(below(5));
  pack.packs_per_window = (1 + below(4)) * pack.dp_size_multiple;
  pack.lookahead_packs = below(6);
  pack.lookahead_windows_max = below(4);
  constexpr OverLong kOverLong[] = {OverLong::kDrop, OverLong::kTruncateRight,
                                    OverLong::kTruncateLeft, OverLong::kSplit};
  pack.over_long = kOverLong[below(4)];
  pack.drop_unsupervised = below(3) == 0;
  pack.remainder = static_cast<Remainder>(below(3));
  if (pack.strategy == Strategy::kWrapped) return;
  if (below(3) == 0) pack.max_samples = 1 + below(6);
  if (below(3) == 0) {
    pack.sample_multiple_of = 1 + below(6);
    pack.capacity = (pack.capacity / pack.sample_multiple_of + 1) * pack.sample_multiple_of;
  }
  if (keeps_order(pack.strategy)) return;
  if (below(3) == 0) pack.balance = Balance::kAttention;
  pack.same_kind = below(3) == 0;
}

// A small job of a seed: lines of every kind, settings of every kind.
inline Job random_job(const TempFolder& folder, std::uint64_t seed) {
  Rng rng(derive(4711, {seed}));
  const std::uint64_t sources = 1 + rng.below(3);
  const auto capacity = static_cast<std::uint32_t>(8 + rng.below(120));
  std::vector<std::string> files;
  for (std::uint64_t s = 0; s < sources; ++s) {
    std::string text;
    const std::uint64_t records = rng.below(8) == 0 ? 0 : rng.below(300);
    for (std::uint64_t r = 0; r < records; ++r) {
      if (rng.below(12) == 0) {
        text += fmt::format("{}{}\n", rng.below(2) == 0 ? "bad" : "mad", r);
        continue;
      }
      text += "[";
      const std::uint64_t samples = rng.below(3) == 0 ? rng.below(4) : 1;
      for (std::uint64_t k = 0; k < samples; ++k) {
        const std::uint64_t kind = rng.below(12);
        const std::uint64_t length = kind == 0   ? 0
                                     : kind == 1 ? capacity + rng.below(2 * capacity + 9)
                                     : kind < 6  ? 1 + rng.below(capacity)
                                                 : 1 + rng.below(capacity / 3);
        text += fmt::format("{}{}", k == 0 ? "" : ",", length);
      }
      text += "]";
      constexpr const char* kColumns[] = {"", "L", "V", "R", "LR", "U"};
      text += kColumns[rng.below(6)];
      text += "\n";
    }
    files.push_back(folder.write(fmt::format("s{}-{}", seed, s), text));
  }
  Job job = job_over(folder, files);
  const bool weights = rng.below(2) == 0;
  for (SourceSettings& source : job.sources) {
    source.weight = weights ? 0.5 + static_cast<double>(rng.below(4)) : 0;
    source.repeat = rng.below(3) == 0 ? 1.5 : 1.0;
  }
  constexpr ShuffleKind kKinds[] = {ShuffleKind::kFull, ShuffleKind::kBuffer, ShuffleKind::kNone};
  job.shuffle = {kKinds[rng.below(3)], 1 + rng.below(50)};
  job.seed = rng.next();
  job.epochs = 2;
  job.lanes = static_cast<std::uint32_t>(1 + rng.below(5));
  job.deliver.dp_size = static_cast<std::uint32_t>(1 + rng.below(3));
  job.pack.dp_size_multiple = job.deliver.dp_size;
  job.pack.capacity = capacity;
  draw_packing(job.pack, rng);
  return job;
}

}  // namespace packline::test

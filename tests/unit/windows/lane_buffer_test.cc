#include "lib/windows/lane_buffer.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "lib/delivery/ledger_check.h"
#include "tests/unit/windows/support.h"

namespace packline {
namespace {

using Counts = std::vector<std::uint32_t>;
using Ids = std::vector<std::string>;

// One record of a lane before it is judged: so many samples of so many tokens.
struct LaneRecord {
  Counts lengths;
  bool media = false;
  bool bad = false;
  bool unsupervised = false;
};
using LaneRecords = std::vector<LaneRecord>;

// Token t of sample k of record r is r * 10^6 + k * 10^4 + t + 1.
Encoded encoded(std::uint64_t number, const LaneRecord& record) {
  Encoded e;
  if (record.bad) {
    e.lost = true;
    e.text = "the record is bad.";
    return e;
  }
  std::vector<std::int32_t> tokens;
  for (std::uint32_t k = 0; k < record.lengths.size(); ++k) {
    e.samples.ids.push_back(record.lengths.size() == 1 ? fmt::format("r{}", number)
                                                       : fmt::format("r{}/{}", number, k));
    for (std::uint32_t t = 0; t < record.lengths[k]; ++t)
      tokens.push_back(static_cast<std::int32_t>(number * 1'000'000 + k * 10'000 + t + 1));
  }
  e.samples.lengths = record.lengths;
  if (record.media) {
    e.samples.columns.push_back({"image",
                                 DType::kU8,
                                 ColumnKind::kRagged,
                                 {},
                                 Buffer::of(std::vector<std::uint8_t>(record.lengths.size(), 7)),
                                 Counts(record.lengths.size(), 1)});
  }
  e.samples.columns.push_back(
      {"input_ids", DType::kI32, ColumnKind::kPerToken, {}, Buffer::of(std::move(tokens)), {}});
  if (record.unsupervised) {
    e.samples.columns.push_back(
        {"labels", DType::kI32, ColumnKind::kSpans, {}, {}, Counts(record.lengths.size())});
  }
  return e;
}

Job job_of(const PackSettings& pack) {
  Job job;
  job.pack = pack;
  return job;
}

// One lane over records in memory: hands in what the buffer asks for.
class LaneReader {
 public:
  LaneReader(const PackSettings& pack, const LaneRecords& records)
      : pack_(pack), policy_(job_of(pack)), records_(records), planner_(pack) {}

  Status start(const Place& place) {
    const bool cuts = pack_.strategy == Strategy::kWrapped;
    if (Status ok = buffer_.start(0, place, records_.size(), cuts); !ok) return ok;
    carried_ = buffer_.carried_records();
    next_ = buffer_.head();
    return {};
  }

  Result<ClosedWindow> window(std::vector<Loss>& losses) {
    const std::uint64_t number = buffer_.place().index;
    while (buffer_.wants_more(pack_)) {
      if (Status ok = buffer_.add(next_record()); !ok) return tl::unexpected<Error>(ok.error());
    }
    return buffer_.close(pack_, planner_, number, losses);
  }

  bool started() const { return buffer_.started(); }
  std::uint64_t tokens() const { return buffer_.tokens(); }

 private:
  JudgedRecord next_record() {
    std::uint64_t number = next_;
    if (carried_.empty()) {
      ++next_;
    } else {
      number = carried_.front();
      carried_.erase(carried_.begin());
    }
    return *judge(policy_, {number, fmt::format("f:{}", number), fmt::format("r{}", number)},
                  encoded(number, records_[number]));
  }

  const PackSettings& pack_;
  const RecordPolicy policy_;
  const LaneRecords& records_;
  Planner planner_;
  LaneBuffer buffer_;
  std::vector<std::uint64_t> carried_;
  std::uint64_t next_ = 0;
};

struct Read {
  ClosedWindow window;
  std::vector<Loss> losses;
};

// All windows of a lane, in order.
std::vector<Read> read_all(const PackSettings& pack, const LaneRecords& records) {
  std::vector<Read> all;
  LaneReader reader(pack, records);
  REQUIRE(reader.start({}).has_value());
  while (reader.started()) {
    Read& read = all.emplace_back();
    auto window = reader.window(read.losses);
    REQUIRE(window.has_value());
    read.window = std::move(*window);
  }
  return all;
}

std::vector<std::int32_t> tokens_in(const Samples& s) {
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < s.tokens(); ++i)
    tokens.push_back(s.find("input_ids")->data.at<std::int32_t>(i));
  return tokens;
}

LaneRecords single(const Counts& lengths) {
  LaneRecords records;
  for (const std::uint32_t length : lengths) records.push_back({{length}});
  return records;
}

PackSettings small_pack(Strategy strategy, std::uint32_t packs, std::uint32_t multiple = 1,
                        Remainder remainder = Remainder::kSpread) {
  PackSettings s;
  s.capacity = 10;
  s.strategy = strategy;
  s.packs_per_window = packs;
  s.dp_size_multiple = multiple;
  s.lookahead_packs = 0;
  s.remainder = remainder;
  return s;
}

TEST_CASE("LaneBuffer: wrapped windows cut samples across records and count each once") {
  const LaneRecords records{{{4, 23}, true, false}, {{}, false, true}, {{6}}};
  const auto all = read_all(small_pack(Strategy::kWrapped, 1), records);
  REQUIRE(all.size() == 4);
  CHECK(all[0].window.samples.ids == Ids{"r0/0", "r0/1"});
  CHECK(all[0].window.after == "0.1.6");
  CHECK(all[0].window.ledger.records_read == 1);
  CHECK(all[0].window.ledger.samples_made == 2);
  CHECK(all[0].window.ledger.tokens_made == 27);
  CHECK(all[0].window.samples.find("image")->rows == Counts{1, 1});

  CHECK(all[1].window.before == "0.1.6");
  CHECK(all[1].window.samples.ids == Ids{"r0/1~6"});
  CHECK(all[1].window.samples.find("image")->rows == Counts{0});
  CHECK(all[1].window.after == "0.1.16");
  CHECK(all[1].window.ledger.records_read == 0);
  CHECK(all[1].window.ledger.samples_made == 1);  // the part
  CHECK(all[1].window.ledger.tokens_made == 0);

  CHECK(all[2].window.samples.ids == Ids{"r0/1~16", "r2"});
  CHECK(all[2].window.after == "2.0.3");
  CHECK(all[2].window.ledger.records_read == 2);
  CHECK(all[2].losses.size() == 1);

  CHECK(all[3].window.last);
  CHECK(all[3].window.samples.ids == Ids{"r2~3"});
  CHECK(all[3].window.after == "3.0.0");
  CHECK(all[3].window.ledger.records_read == 0);
  CHECK(tokens_in(all[3].window.samples) == std::vector<std::int32_t>{2000004, 2000005, 2000006});
}

// What is read ahead is decided by it.
TEST_CASE("LaneBuffer: it holds the tokens that are not delivered yet, of a cut sample the rest") {
  const auto held = [](Strategy strategy, const Counts& lengths) {
    const PackSettings pack = small_pack(strategy, 1);
    const LaneRecords records = single(lengths);
    LaneReader reader(pack, records);
    REQUIRE(reader.start({}).has_value());
    Counts tokens;
    std::vector<Loss> losses;
    while (reader.started()) {
      REQUIRE(reader.window(losses).has_value());
      tokens.push_back(static_cast<std::uint32_t>(reader.tokens()));
    }
    return tokens;
  };
  CHECK(held(Strategy::kWrapped, {8, 25, 5, 4}) == Counts{23, 13, 3, 2, 0});
  CHECK(held(Strategy::kSequential, {8, 7, 5, 4}) == Counts{7, 5, 0});
}

TEST_CASE("LaneBuffer: what remainder: drop loses is named, with its tokens") {
  const auto all = read_all(small_pack(Strategy::kBestFitDecreasing, 4, 2, Remainder::kDrop),
                            {{{9}}, {{10, 3}, true, false}, {{4}}});
  REQUIRE(all.size() == 1);
  const ClosedWindow& w = all[0].window;
  CHECK(w.packs.size() == 2);
  CHECK(test::sum(w.packs) == 2);
  REQUIRE(all[0].losses.size() == 2);
  CHECK(all[0].losses[0].id == "r1/1");
  CHECK(all[0].losses[0].tokens == 3);
  CHECK(all[0].losses[0].lane_record == 1);
  CHECK(all[0].losses[0].reason == "remainder");
  CHECK(all[0].losses[0].cause.find("remainder: drop") != std::string::npos);
  CHECK(all[0].losses[0].window == w.key);
  CHECK(all[0].losses[1].id == "r2");
  CHECK(all[0].losses[1].tokens == 4);
  CHECK(w.ledger.samples_lost[3] == 2);
  CHECK(w.ledger.tokens_lost[3] == 7);
  CHECK(check_ledger(w.ledger, w.samples.size(), w.samples.tokens()).has_value());
}

TEST_CASE("LaneBuffer: of a sample that was delivered in part the rest is truncated") {
  const auto all =
      read_all(small_pack(Strategy::kWrapped, 2, 2, Remainder::kDrop), single({8, 20, 5}));
  REQUIRE(all.size() == 2);
  CHECK(all[0].window.samples.ids == Ids{"r0", "r1", "r1~2"});
  CHECK(all[1].window.last);
  CHECK(all[1].window.packs.size() == 2);
  CHECK(all[1].window.samples.ids == Ids{"r1~12", "r2", "r2~2"});

  const auto dropped =
      read_all(small_pack(Strategy::kWrapped, 4, 4, Remainder::kDrop), single({8, 34, 5}));
  REQUIRE(dropped.size() == 2);
  const ClosedWindow& w = dropped[1].window;
  CHECK(w.packs.empty());
  CHECK(w.ledger.tokens_truncated == 2);
  CHECK(w.ledger.samples_lost[3] == 1);
  REQUIRE(dropped[1].losses.size() == 1);
  CHECK(dropped[1].losses[0].id == "r2");
  CHECK(dropped[1].losses[0].tokens == 5);
  CHECK(w.after == "3.0.0");
}

TEST_CASE("LaneBuffer: repeated samples have ids of their own and are counted apart") {
  const auto all =
      read_all(small_pack(Strategy::kSequential, 5, 5, Remainder::kRepeat), single({9, 8, 2}));
  REQUIRE(all.size() == 1);
  const ClosedWindow& w = all[0].window;
  CHECK(w.packs == Counts{1, 2, 1, 2, 1});
  CHECK(w.samples.ids == Ids{"r0", "r1", "r2", "r0*1", "r1*1", "r2*1", "r0*2"});
  CHECK(w.ledger.samples_made == 3);
  CHECK(w.ledger.samples_repeated == 4);
  CHECK(w.ledger.tokens_repeated == 28);
  CHECK(check_ledger(w.ledger, w.samples.size(), w.samples.tokens()).has_value());
}

TEST_CASE("LaneBuffer: a repeated part of a sample says both, and is no further sample made") {
  const auto all = read_all(small_pack(Strategy::kWrapped, 3, 3, Remainder::kRepeat), single({14}));
  REQUIRE(all.size() == 1);
  CHECK(all[0].window.samples.ids == Ids{"r0", "r0~10", "r0*1"});
  CHECK(all[0].window.ledger.samples_made == 2);
  CHECK(all[0].window.ledger.samples_repeated == 1);
  const auto more =
      read_all(small_pack(Strategy::kWrapped, 4, 4, Remainder::kRepeat), single({14}));
  CHECK(more[0].window.samples.ids == Ids{"r0", "r0~10", "r0*1", "r0~10*1"});
  CHECK(more[0].window.ledger.samples_made == 2);
  CHECK(more[0].window.ledger.samples_repeated == 2);
  CHECK(more[0].window.ledger.tokens_repeated == 14);
}

TEST_CASE(
    "LaneBuffer: a sample with rows in a ragged column is a media sample, a part without not") {
  PackSettings s = small_pack(Strategy::kBestFitDecreasing, 4, 2);
  s.same_kind = true;
  s.over_long = OverLong::kSplit;
  const auto all = read_all(s, {{{14}, true, false}, {{3}}});
  REQUIRE(all.size() == 1);
  const ClosedWindow& w = all[0].window;
  REQUIRE(w.packs.size() == 4);  // two of media, the second a repetition; two of the others
  CHECK(test::sum(w.packs) == 4);
  std::map<std::string, std::size_t> group;
  std::size_t next = 0;
  for (std::size_t k = 0; k < 4; ++k)
    for (std::uint32_t i = 0; i < w.packs[k]; ++i) group[w.samples.ids[next++]] = k / 2;
  CHECK(group.size() == 4);
  CHECK(group.at("r0") == group.at("r0*1"));
  CHECK(group.at("r0~10") == group.at("r1"));
  CHECK(group.at("r0") != group.at("r1"));
}

TEST_CASE("LaneBuffer: a place within a sample is refused where no window can end") {
  PackSettings wrapped = small_pack(Strategy::kWrapped, 1);
  wrapped.drop_unsupervised = true;
  const LaneRecords records{
      {{3, 14}}, {{}, false, true}, {{0, 5}}, {{9}, false, false, true}, {{7}}};
  const char* positions[] = {"0.0.3",  // behind the sample's end
                             "0.1.14",      "2.1.5",
                             "0.2.1",        // no such sample
                             "1.0.1",        // of a bad record
                             "2.0.1",        // of an empty sample
                             "3.0.1",        // of a sample that is lost
                             "5.0.1",        // behind the lane's end
                             "1.0.0,1.0.1",  // carries a sample
                             "6.0.0"};
  for (const char* position : positions) {
    CAPTURE(position);
    LaneReader reader(wrapped, records);
    Status ok = reader.start({0, 2, position});
    std::vector<Loss> losses;
    if (ok) {
      if (const auto window = reader.window(losses); !window) ok = tl::unexpected(window.error());
    }
    REQUIRE(!ok);
    CHECK(ok.error().code == ExitCode::kWrongJob);
    CHECK(ok.error().text.find(fmt::format("\"{}\"", position)) != std::string::npos);
    CHECK(!reader.started());
  }
  for (const char* position : {"0.0.2", "0.1.13", "2.1.4", "5.0.0"}) {
    CAPTURE(position);
    LaneReader reader(wrapped, records);
    std::vector<Loss> losses;
    REQUIRE(reader.start({0, 2, position}).has_value());
    CHECK(reader.window(losses).has_value());
  }
}

// Lanes of records of every kind, with settings of every kind.
struct RandomRecords {
  PackSettings pack;
  LaneRecords records;
};

RandomRecords random_records(std::uint64_t seed) {
  Rng rng(derive(815, {seed}));
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
  RandomRecords r;
  r.pack.capacity = 8 + below(100);
  r.pack.dp_size_multiple = 1 + below(3);
  test::draw_packing(r.pack, rng);
  r.records.resize(below(8) == 0 ? below(3) : below(150));
  const std::uint32_t most = below(2) == 0 ? r.pack.capacity : 1 + r.pack.capacity / 4;
  for (LaneRecord& record : r.records) {
    record.bad = below(15) == 0;
    record.media = below(4) == 0;
    record.unsupervised = below(5) == 0;
    record.lengths.resize(below(3) == 0 ? below(5) : 1);
    for (std::uint32_t& length : record.lengths) {
      const std::uint32_t kind = below(12);
      length = kind == 0   ? 0
               : kind == 1 ? r.pack.capacity + below(2 * r.pack.capacity)
                           : 1 + below(most);
    }
  }
  return r;
}

// L1, and L9: "A cursor holds positions": going on from any place is going on.
TEST_CASE("LaneBuffer: from every place a lane goes on as it did, whatever the settings") {
  std::map<Strategy, std::uint64_t> places;
  std::uint64_t carried = 0, within_a_sample = 0;
  for (std::uint64_t seed = 0; seed < 1200; ++seed) {
    CAPTURE(seed);
    const RandomRecords r = random_records(seed);
    for (const Read& read : read_all(r.pack, r.records)) {
      const ClosedWindow& w = read.window;
      LaneReader afresh(r.pack, r.records);
      REQUIRE(afresh.start({0, w.key.index, w.before}).has_value());
      std::vector<Loss> losses;
      const auto again = afresh.window(losses);
      REQUIRE(again.has_value());
      REQUIRE(test::bytes_of(*again, losses) == test::bytes_of(w, read.losses));
      ++places[r.pack.strategy];
      const auto position = Position::parse(w.before);
      carried += position->carried.empty() ? 0 : 1;
      within_a_sample += position->token > 0 ? 1 : 0;
    }
  }
  CHECK(places.size() == 5);  // the lanes do try it
  for (const auto& [strategy, n] : places) CHECK(n > 500);
  CHECK(carried > 500);
  CHECK(within_a_sample > 500);
}

// L4: "Three ledgers are exact in every epoch."
TEST_CASE("LaneBuffer: over a lane the ledgers balance, each id is there once") {
  std::uint64_t repeated = 0, remainder = 0, truncated = 0;
  for (std::uint64_t seed = 2000; seed < 3200; ++seed) {
    CAPTURE(seed);
    const RandomRecords r = random_records(seed);
    Ledger ledger;
    std::uint64_t samples = 0, tokens = 0;
    std::set<std::string> ids;
    for (const Read& read : read_all(r.pack, r.records)) {
      ledger += read.window.ledger;
      samples += read.window.samples.size();
      tokens += read.window.samples.tokens();
      REQUIRE(test::sum(read.window.packs) == read.window.samples.size());
      for (const auto& id : read.window.samples.ids) REQUIRE(ids.insert(id).second);
      for (const Loss& loss : read.losses) REQUIRE(ids.insert(loss.id).second);
    }
    const Status balanced = check_ledger(ledger, samples, tokens);
    if (!balanced) FAIL(balanced.error().text);
    REQUIRE(ledger.records_read == r.records.size());
    repeated += ledger.samples_repeated;
    remainder += ledger.samples_lost[3];
    truncated += ledger.tokens_truncated;
  }
  CHECK(repeated > 500);
  CHECK(remainder > 300);
  CHECK(truncated > 5000);
}

// Of one lane, wrapped delivers the tokens that sequential does: it only cuts them elsewhere.
TEST_CASE("LaneBuffer: wrapped delivers every token and every row in the order of the lane") {
  for (std::uint64_t seed = 4000; seed < 4300; ++seed) {
    CAPTURE(seed);
    RandomRecords r = random_records(seed);
    r.pack.drop_unsupervised = r.pack.same_kind = false;
    r.pack.balance = Balance::kNone;
    r.pack.remainder = Remainder::kSpread;
    r.pack.over_long = OverLong::kSplit;
    r.pack.max_samples = 0;
    std::vector<std::int32_t> tokens[2];
    std::uint64_t rows[2] = {0, 0};
    for (const int i : {0, 1}) {
      r.pack.strategy = i == 0 ? Strategy::kSequential : Strategy::kWrapped;
      if (i == 1) r.pack.sample_multiple_of = 1;
      for (const Read& read : read_all(r.pack, r.records)) {
        const auto more = tokens_in(read.window.samples);
        tokens[i].insert(tokens[i].end(), more.begin(), more.end());
        if (const Column* image = read.window.samples.find("image"))
          rows[i] += test::sum(image->rows);
      }
    }
    REQUIRE(tokens[0] == tokens[1]);
    REQUIRE(rows[0] == rows[1]);
  }
}

}  // namespace
}  // namespace packline

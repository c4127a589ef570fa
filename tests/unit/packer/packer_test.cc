#include "packer/packer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lib/delivery/digest.h"

namespace packline {
namespace {

using std::chrono::seconds;

Instant at(int s) { return Instant{seconds(s)}; }

PackerSettings settings() {
  PackerSettings s;
  s.pack.seed = 5;
  s.pack.capacity = 8;
  s.pack.packs_per_window = 4;
  s.pack.dp_size_multiple = 2;
  s.job = {77, 2, 1, 2};
  s.producers = 2;
  return s;
}

using Counts = std::vector<std::uint32_t>;

// `packs`: how many of the samples each has.
Window window(const Counts& lengths, const Counts& packs,
              std::vector<Destination> to = {{0, "a"}, {1, "b"}}) {
  Window w;
  w.envelope = {77, 2};
  w.key = {1, 0, 3};  // window 3 * 2 lanes + 1 = 7
  w.before = "p";
  w.after = "q";
  w.packs = packs;
  w.to = std::move(to);
  w.ledger.records_read = 9;
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    w.samples.ids.push_back("s0:" + std::to_string(i));
    w.samples.lengths.push_back(lengths[i]);
    for (std::uint32_t t = 0; t < std::min(lengths[i], 99U); ++t)
      ids.push_back(static_cast<std::int32_t>(100 * i + t));
  }
  Column c;
  c.name = "input_ids";
  c.data = Buffer::of(std::move(ids));
  w.samples.columns.push_back(std::move(c));
  return w;
}

TEST_CASE("Packer: pack k goes to rank k modulo dp_size, in order, whole") {
  Packer p(settings(), at(0));
  const Window w = window({8, 5, 3, 1, 7}, {1, 2, 0, 2});
  const std::vector<Counts> bins{{0}, {1, 2}, {}, {3, 4}};
  const auto slices = p.on_window(w, at(0));
  REQUIRE(slices.has_value());
  REQUIRE(slices->size() == 2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const PackedSlice& s = (*slices)[rank];
    CHECK(s.endpoint == (rank == 0 ? "a" : "b"));
    CHECK(s.slice.envelope == w.envelope);
    CHECK(s.slice.key == w.key);
    CHECK(s.slice.before == "p");
    CHECK(s.slice.after == "q");
    CHECK(s.slice.packs == 4);
    CHECK(s.slice.dp_rank == rank);
    CHECK(s.slice.ledger == w.ledger);
    REQUIRE(s.packs.size() == 2);
    REQUIRE(s.slice.parts.size() == 2);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const std::uint32_t k = rank + 2 * i;
      const Samples expected = gather(w.samples, bins[k]);
      REQUIRE(check_samples(s.packs[i]).has_value());
      CHECK(s.packs[i].ids == expected.ids);
      CHECK(s.packs[i].lengths == expected.lengths);
      CHECK(pack_digest(0, 7, k, s.packs[i]) == pack_digest(0, 7, k, expected));
      CHECK(s.slice.parts[i].digest == pack_digest(0, 7, k, expected));
      CHECK(s.slice.parts[i].samples == expected.size());
      CHECK(s.slice.parts[i].tokens == expected.tokens());
    }
  }
  CHECK(p.counters().packs == 4);
  CHECK(p.counters().slices == 2);
  CHECK(p.counters().windows == 1);
}

// L1: "The packs of a window are a pure function of the job."
TEST_CASE("Packer: who asks for a slice changes nothing in it") {
  Packer p(settings(), at(0)), fresh(settings(), at(0));
  const auto both = p.on_window(window({4, 4, 4, 2}, {2, 2}), at(0));
  const auto one = fresh.on_window(window({4, 4, 4, 2}, {2, 2}, {{1, "elsewhere"}}), at(9));
  REQUIRE((both.has_value() && one.has_value()));
  REQUIRE(one->size() == 1);
  CHECK((*one)[0].slice.parts[0].digest == (*both)[1].slice.parts[0].digest);
}

TEST_CASE("Packer: it takes any dp_size, the window names it") {
  Packer p(settings(), at(0));
  Window w = window({8, 7, 6, 5}, {1, 1, 1, 1}, {{3, "d"}});
  w.envelope.dp_size = 4;
  const auto slices = p.on_window(w, at(0));
  REQUIRE(slices.has_value());
  REQUIRE((*slices)[0].packs.size() == 1);
  CHECK((*slices)[0].packs[0].ids == std::vector<std::string>{"s0:3"});
  CHECK((*slices)[0].slice.envelope.dp_size == 4);
}

TEST_CASE("Packer: a window without packs still goes to its sinks") {
  Packer p(settings(), at(0));
  const auto slices = p.on_window(window({}, {}), at(0));
  REQUIRE(slices.has_value());
  REQUIRE(slices->size() == 2);
  CHECK((*slices)[0].slice.parts.empty());
  CHECK((*slices)[0].slice.packs == 0);
}

TEST_CASE("Packer: packs without samples are packs") {
  Packer p(settings(), at(0));
  const auto slices = p.on_window(window({3}, {0, 1, 0, 0}), at(0));
  REQUIRE(slices.has_value());
  REQUIRE((*slices)[1].packs.size() == 2);
  CHECK((*slices)[1].slice.parts[0].tokens == 3);
  CHECK((*slices)[0].slice.parts[1].samples == 0);
}

TEST_CASE("Packer: another job's window is refused by name and counted") {
  Packer p(settings(), at(0));
  Window w = window({8}, {1, 0});
  w.envelope.job = 78;
  const auto r = p.on_window(w, at(0));
  REQUIRE_FALSE(r.has_value());
  CHECK(r.error().text.find("000000000000004e") != std::string::npos);
  CHECK(p.counters().refused_other_job == 1);
}

TEST_CASE("Packer: windows whose packs are not as they may be are refused, not believed") {
  Packer p(settings(), at(0));
  std::vector<std::pair<Window, std::string>> bad = {
      {window({8, 8, 8}, {1, 1}), "its packs have 2 samples, it has 3"},
      {window({8, 8}, {1, 2}), "its packs have more samples than it has: 2"},
      {window({8, 8}, {1, UINT32_MAX}), "its packs have more samples than it has: 2"},
      {window({}, {0, 1}), "its packs have more samples than it has: 0"},
      {window({8}, {}), "its packs have 0 samples, it has 1"},
      {window({9}, {1, 0}), "pack 0 has 9 tokens, pack.capacity is 8"},
      {window({8, 4, 5}, {1, 2}), "pack 1 has 9 tokens, pack.capacity is 8"},
      {window({8, UINT32_MAX, 8}, {1, 2}), "pack 1 has 4294967303 tokens"},
      {window({8}, {1, 0, 0}), "3 packs cannot be dealt over dp_size 2"},
      {window({8}, {1, 0, 0, 0, 0, 0}), "it claims 6 packs, pack.packs_per_window is 4"},
      {window({8}, {1, 0}, {{2, "c"}}), "it names dp_rank 2 of dp_size 2"},
      {window({8}, {1, 0}, {{1, "b"}, {0, "a"}, {1, "c"}}), "it names dp_rank 1 twice"}};
  bad.emplace_back(window({8}, {1, 0}), "the job has no lane 2");
  bad.back().first.key.lane = 2;
  bad.emplace_back(window({8}, {1, 0}), "2 packs cannot be dealt over dp_size 0");
  bad.back().first.envelope.dp_size = 0;
  for (const auto& [w, why] : bad) {
    CAPTURE(why);
    const auto refused = p.on_window(w, at(0));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().text.find("of epoch 0 (lane ") != std::string::npos);
    CHECK(refused.error().text.find(why) != std::string::npos);
  }
  CHECK(p.counters().refused_bad == bad.size());
  CHECK(p.counters().slices == 0);
  CHECK(p.on_window(window({8, 8}, {1, 1}), at(0)).has_value());
}

Notice notice(std::uint32_t producer, bool finished) {
  Notice n;
  n.envelope = {77, 2};
  n.producer = producer;
  n.finished = finished;
  return n;
}

TEST_CASE("Packer: ends when every producer has said finished") {
  Packer p(settings(), at(0));
  p.on_notice(notice(0, true), at(1));
  p.on_notice(notice(1, false), at(1));
  p.on_notice(notice(7, true), at(1));  // none of this line
  p.tick(at(1));
  CHECK_FALSE(p.exit());
  p.on_notice(notice(1, true), at(2));
  p.tick(at(2));
  REQUIRE(p.exit());
  CHECK(p.exit()->code == ExitCode::kDone);
  CHECK(p.waits(at(3)).empty());
}

TEST_CASE("Packer: another job's end is not its end") {
  Packer p(settings(), at(0));
  for (const std::uint32_t i : {0u, 1u}) {
    Notice n = notice(i, true);
    n.envelope.job = 78;
    p.on_notice(n, at(1));
  }
  p.tick(at(1));
  CHECK_FALSE(p.exit());
}

TEST_CASE("Packer: ends by name when no producer is heard for fail_after, windows count as heard") {
  Packer p(settings(), at(0));
  REQUIRE(p.on_window(window({8, 8}, {1, 1}), at(10)).has_value());
  p.tick(at(610));
  CHECK_FALSE(p.exit());
  p.tick(at(611));
  REQUIRE(p.exit());
  CHECK(p.exit()->code == ExitCode::kUnreachable);
  CHECK(p.exit()->text.find("no producer has been heard for 601 s") != std::string::npos);
}

// L7: "Any process that waits can say for what, for whom, and since when."
TEST_CASE("Packer: says which producer it has not heard") {
  Packer p(settings(), at(0));
  p.on_notice(notice(0, false), at(1));
  const auto waits = p.waits(at(5));
  REQUIRE(waits.size() == 3);
  CHECK(waits[0] == Wait{"a notice", "producer 0", 4000});
  CHECK(waits[1] == Wait{"its first notice", "producer 1", 5000});
  CHECK(waits[2] == Wait{"a window", "any producer", 5000});
}

}  // namespace
}  // namespace packline

#include "lib/sample/parts.h"

#include <doctest/doctest.h>

#include "lib/base/random.h"
#include "tests/unit/sample/groups.h"

namespace packline::test {
namespace {

// A group of up to 12 samples, each of 0 to 9 tokens, with every kind of column.
Samples random_group(Rng& rng) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
  Samples s;
  std::vector<std::int16_t> image;
  Int32s ids;
  std::vector<double> scale;
  Rows begin_end, image_rows, span_rows, note_rows;
  std::string note;
  const std::uint32_t n = below(13);
  for (std::uint32_t i = 0; i < n; ++i) {
    s.ids.push_back("s" + std::to_string(below(1000)));
    s.lengths.push_back(below(10));
    for (std::uint32_t t = 0; t < s.lengths[i]; ++t) {
      ids.push_back(static_cast<std::int32_t>(below(50000)));
      scale.push_back(static_cast<double>(below(100)) / 8);
    }
    image_rows.push_back(below(3));
    for (std::uint32_t r = 0; r < 2 * image_rows.back(); ++r)
      image.push_back(static_cast<std::int16_t>(below(30000)));
    note_rows.push_back(below(5));
    note.append(note_rows.back(), static_cast<char>('a' + i));
    span_rows.push_back(0);
    for (std::uint32_t at = below(3); at < s.lengths[i]; at += below(3)) {
      const std::uint32_t end = std::min(s.lengths[i], at + 1 + below(4));
      begin_end.insert(begin_end.end(), {at, end});
      ++span_rows.back();
      at = end;
    }
  }
  Column loss_scale{"loss_scale", DType::kF64, ColumnKind::kPerToken, {}, Buffer::of(scale), {}};
  s.columns = {ragged("image", image, image_rows), per_token("input_ids", ids),
               spans("labels", begin_end, span_rows), std::move(loss_scale),
               opaque("note", note, note_rows)};
  return s;
}

template <typename T>
std::vector<T> cut(const std::vector<T>& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(end)};
}

Int32s label_values(const Samples& s) { return values_of_spans(s, *s.find("labels")); }

}  // namespace

TEST_CASE("runs_of: runs of a group are what gathering their samples gives, without copying") {
  Rng rng(31);
  for (int turn = 0; turn < 400; ++turn) {
    const Samples s = random_group(rng);
    REQUIRE(check_samples(s));
    Rows counts;
    for (std::uint32_t left = static_cast<std::uint32_t>(s.size()); left > 0;) {
      counts.push_back(static_cast<std::uint32_t>(rng.below(left + 1)));  // 0: an empty run
      left -= counts.back();
    }
    const std::vector<Samples> runs = runs_of(s, counts);
    REQUIRE(runs.size() == counts.size());
    std::uint32_t first = 0;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      Rows chosen;
      for (std::uint32_t i = 0; i < counts[r]; ++i) chosen.push_back(first++);
      REQUIRE(check_samples(runs[r]));
      REQUIRE(same(runs[r], gather(s, chosen)));
      for (std::size_t c = 0; c < s.columns.size(); ++c) {
        const Buffer &whole = s.columns[c].data, &part = runs[r].columns[c].data;
        if (part.empty()) continue;
        REQUIRE(part.data() >= whole.data());
        REQUIRE(part.data() + part.size() <= whole.data() + whole.size());
      }
    }
  }
}

TEST_CASE("runs_of: no run of no sample, and runs of none") {
  CHECK(runs_of(Samples{}, {}).empty());
  const auto none = runs_of(gather(three(), {}), Rows{0, 0});
  REQUIRE(none.size() == 2);
  CHECK(same(none[1], gather(three(), {})));
  CHECK(none[0].columns.size() == 4);
}

TEST_CASE("part_of: per-token columns and spans are cut, others are whole or have no rows") {
  Rng rng(32);
  int parts = 0;
  while (parts < 1500) {
    const Samples s = random_group(rng);
    std::size_t at = 0;  // tokens before the sample
    for (std::uint32_t i = 0; i < s.size(); at += s.lengths[i++]) {
      const std::uint32_t length = s.lengths[i];
      if (length == 0) continue;
      const auto begin = static_cast<std::uint32_t>(rng.below(length));
      const auto end = static_cast<std::uint32_t>(begin + 1 + rng.below(length - begin));
      const bool keeps_rows = rng.below(2) == 0;
      const Samples part = part_of(s, i, begin, end, keeps_rows);
      const Samples whole = gather(s, {i});
      ++parts;
      REQUIRE(check_samples(part));
      REQUIRE(part.ids == whole.ids);
      REQUIRE(part.lengths == Rows{end - begin});
      const auto cut_like = [&]<typename T>(const char* name, T) {
        return values<T>(*part.find(name)) == cut(values<T>(*s.find(name)), at + begin, at + end);
      };
      REQUIRE(cut_like("input_ids", std::int32_t{}));
      REQUIRE(cut_like("loss_scale", double{}));
      REQUIRE(label_values(part) == cut(label_values(s), at + begin, at + end));
      for (const char* name : {"image", "note"}) {
        if (keeps_rows) {
          REQUIRE(same(*part.find(name), *whole.find(name)));
        } else {
          REQUIRE(part.find(name)->rows == Rows{0});
          REQUIRE(part.find(name)->data.empty());
          REQUIRE(part.find(name)->item_shape == whole.find(name)->item_shape);
        }
      }
    }
  }
}

TEST_CASE("part_of: the parts of a sample, one after the other, are its tokens") {
  const Samples s = three();
  const Samples first = part_of(s, 1, 0, 1, true), second = part_of(s, 1, 1, 3, false);
  CHECK(values<std::uint32_t>(*first.find("labels")) == Rows{0, 1});
  CHECK(values<std::uint32_t>(*second.find("labels")) == Rows{0, 2});
  CHECK(values<char>(*first.find("note")) == std::vector<char>{'b', 'c', 'd'});
  const auto joined = concatenate({first, second});
  REQUIRE(joined);
  CHECK(values<std::int32_t>(*joined->find("input_ids")) == Int32s{20, 21, 22});
  CHECK(label_values(*joined) == Int32s{20, 21, 22});
  // As a sample of its own, a part's first token is not trained.
  CHECK(labels_of(*joined) == Int32s{-100, -100, 22});
  CHECK(same(part_of(s, 0, 0, 2, true), gather(s, {0})));
}

TEST_CASE("part_of: a span outside the part is gone, one that it cuts is shorter") {
  Samples s;
  s.ids = {"a"};
  s.lengths = {10};
  s.columns = {per_token("input_ids", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
               spans("labels", {0, 2, 3, 6, 8, 10}, {3})};
  CHECK(values<std::uint32_t>(*part_of(s, 0, 4, 8, true).find("labels")) == Rows{0, 2});
  CHECK(values<std::uint32_t>(*part_of(s, 0, 1, 9, true).find("labels")) == Rows{0, 1, 2, 5, 7, 8});
  CHECK(part_of(s, 0, 6, 8, true).find("labels")->rows == Rows{0});
}

}  // namespace packline::test

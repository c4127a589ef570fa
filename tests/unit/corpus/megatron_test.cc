#include "lib/corpus/megatron.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "lib/corpus/binary_tokens.h"
#include "tests/unit/corpus/megatron_pair.h"
#include "tests/unit/temp_folder.h"

using namespace packline;
using packline::test::MegatronPair;
using packline::test::TempFolder;

namespace {

SourceSettings settings_for(const std::vector<std::string>& files, RecordIs record) {
  SourceSettings s;
  s.pattern = "*.idx";
  s.files = files;
  s.format = Format::kTokens;
  s.record = record;
  return s;
}

std::unique_ptr<Source> opened_pair(const TempFolder& folder, const std::vector<std::string>& files,
                                    RecordIs record = RecordIs::kDocument) {
  auto source = Source::open(settings_for(files, record), folder.path("state"));
  REQUIRE_MESSAGE(source.has_value(), (source ? "" : source.error().text));
  return std::move(*source);
}

// Why the pair cannot be opened, without the name of its .idx; "" when it can.
std::string pair_refusal(const MegatronPair& pair, RecordIs record = RecordIs::kDocument) {
  const TempFolder folder;
  const std::string idx = pair.write(folder);
  const auto source = Source::open(settings_for({idx}, record), folder.path("state"));
  if (source) return "";
  CHECK(source.error().code == ExitCode::kDataRefused);
  const std::size_t at = source.error().text.find(idx + " ");
  REQUIRE_MESSAGE(at != std::string::npos, source.error().text);
  return source.error().text.substr(at + idx.size() + 1);
}

std::vector<std::int32_t> tokens_of(const Source& source, std::uint64_t i) {
  std::string scratch;
  const auto record = source.read(i, scratch);
  REQUIRE_MESSAGE(record.has_value(), (record ? "" : record.error().text));
  std::vector<std::int32_t> ids(record->bytes.size() / token_bytes(record->form));
  CHECK(read_tokens(record->bytes, record->form, ids.data()) == "");
  return ids;
}

using Ids = std::vector<std::int32_t>;

template <typename T>
void check_dtype(std::uint8_t code, RecordForm form) {
  const TempFolder folder;
  MegatronPair pair;
  pair.dtype = code;
  pair.add_sequence<T>({1, 2, 3});
  pair.add_sequence<T>({});
  pair.add_sequence<T>({4});
  pair.end_document();
  pair.end_document();  // without a sequence
  pair.add_sequence<T>({5, 100});
  pair.end_document();
  const std::string idx = pair.write(folder);

  const auto documents = opened_pair(folder, {idx});
  REQUIRE(documents->records() == 3);
  CHECK(tokens_of(*documents, 0) == Ids{1, 2, 3, 4});
  CHECK(tokens_of(*documents, 1) == Ids{});
  CHECK(tokens_of(*documents, 2) == Ids{5, 100});
  std::string scratch;
  CHECK(documents->read(0, scratch)->form == form);
  CHECK(documents->where(2) == folder.path("a.bin") + ":document 2");

  const auto sequences = opened_pair(folder, {idx}, RecordIs::kSequence);
  REQUIRE(sequences->records() == 4);
  CHECK(tokens_of(*sequences, 0) == Ids{1, 2, 3});
  CHECK(tokens_of(*sequences, 1) == Ids{});
  CHECK(tokens_of(*sequences, 3) == Ids{5, 100});
  CHECK(sequences->where(1) == folder.path("a.bin") + ":sequence 1");
}

MegatronPair three_sequences() {
  MegatronPair pair;
  pair.add_sequence<std::int32_t>({1, 2, 3});
  pair.add_sequence<std::int32_t>({4, 5});
  pair.end_document();
  pair.add_sequence<std::int32_t>({6});
  pair.end_document();
  return pair;
}

}  // namespace

TEST_CASE("Megatron: pairs of every integer type are read, as documents and as sequences") {
  check_dtype<std::uint8_t>(1, RecordForm::kU8);
  check_dtype<std::int8_t>(2, RecordForm::kI8);
  check_dtype<std::int16_t>(3, RecordForm::kI16);
  check_dtype<std::int32_t>(4, RecordForm::kI32);
  check_dtype<std::int64_t>(5, RecordForm::kI64);
  check_dtype<std::uint16_t>(8, RecordForm::kU16);
}

TEST_CASE("Megatron: either file names the pair, and both name it once") {
  const TempFolder folder;
  const std::string idx = three_sequences().write(folder), bin = folder.path("a.bin");
  const std::string other = three_sequences().write(folder, "b");
  CHECK(opened_pair(folder, {idx})->records() == 2);
  CHECK(opened_pair(folder, {bin})->records() == 2);
  const auto all = opened_pair(folder, {bin, idx, folder.path("b.bin"), other});
  REQUIRE(all->records() == 4);
  CHECK(all->where(2) == folder.path("b.bin") + ":document 0");
  CHECK(tokens_of(*all, 3) == Ids{6});
}

TEST_CASE("Megatron: many documents come in order, through a reused index") {
  const TempFolder folder;
  MegatronPair pair;
  pair.dtype = 8;
  std::vector<Ids> expected;
  Rng rng(4);
  for (int d = 0; d < 20000; ++d) {  // more than is held of the arrays at once
    expected.emplace_back();
    for (auto n = rng.below(3); n > 0; --n) {
      std::vector<std::uint16_t> ids(rng.below(5));
      for (auto& id : ids) id = static_cast<std::uint16_t>(rng.below(65536));
      expected.back().insert(expected.back().end(), ids.begin(), ids.end());
      pair.add_sequence(ids);
    }
    pair.end_document();
  }
  pair.more = std::string(pair.lengths.size(), '\0');  // modes, as multimodal tools write them
  const std::string idx = pair.write(folder);
  for (int round = 0; round < 2; ++round) {
    const auto source = opened_pair(folder, {idx});
    REQUIRE(source->records() == expected.size());
    for (std::size_t i = 0; i < expected.size(); i += 7) {
      REQUIRE(tokens_of(*source, i) == expected[i]);
    }
  }
}

TEST_CASE("Megatron: a pair without sequences has no records") {
  CHECK(pair_refusal(MegatronPair()) == "");
  const TempFolder folder;
  CHECK(opened_pair(folder, {MegatronPair().write(folder)})->records() == 0);
}

TEST_CASE("Megatron: L1 and the fingerprint, a change in either file is another content") {
  const TempFolder folder;
  MegatronPair pair = three_sequences();
  const auto content = [&] { return opened_pair(folder, {pair.write(folder)})->content_hash(); };
  const std::uint64_t first = content();
  CHECK(content() == first);
  pair.ids[0] = 9;
  CHECK(content() != first);
  pair = three_sequences();
  pair.documents = {0, 1, 3};
  std::filesystem::remove_all(folder.path("state"));
  CHECK(content() != first);
}

TEST_CASE("Megatron: an index that is no index, or of a kind that is not read, is told") {
  MegatronPair pair = three_sequences();
  pair.magic = std::string("TNTIDX\0\0\0", 9);
  CHECK(pair_refusal(pair) == "does not begin with MMIDIDX: it is no index of Megatron's");
  pair = three_sequences();
  pair.version = 2;
  CHECK(pair_refusal(pair) == "is of version 2, and only 1 is read");
  for (const int code : {6, 7}) {
    pair = three_sequences();
    pair.dtype = static_cast<std::uint8_t>(code);
    CHECK(pair_refusal(pair) == "holds floating-point numbers, which are no token ids");
  }
  for (const int code : {0, 9, 255}) {
    pair.dtype = static_cast<std::uint8_t>(code);
    CHECK(pair_refusal(pair) ==
          fmt::format("has dtype {}, which is none of 1 to 8: it is damaged", code));
  }
}

TEST_CASE("Megatron: hostile lengths, places and documents are told") {
  MegatronPair pair = three_sequences();
  pair.lengths[1] = -2;
  CHECK(pair_refusal(pair) == "gives sequence 1 a length of -2 tokens: it is damaged");
  pair = three_sequences();
  pair.lengths[2] = 2147483647;
  CHECK(pair_refusal(pair).find("has sequence 2 of 8589934588 bytes at byte 20 of ") == 0);
  for (const std::int64_t place : {std::int64_t{-1}, std::int64_t{21}, INT64_MAX, INT64_MIN}) {
    pair = three_sequences();
    pair.places[2] = place;
    CHECK(pair_refusal(pair).find(fmt::format("has sequence 2 of 4 bytes at byte {} of ", place)) ==
          0);
    CHECK(pair_refusal(pair, RecordIs::kSequence).find("the two do not belong together") !=
          std::string::npos);
  }
  for (const std::vector<std::int64_t>& documents : {std::vector<std::int64_t>{1, 2, 3},
                                                     {0, 4, 3},
                                                     {0, 2, 2},
                                                     {0, -1, 3},
                                                     {0, 3, 2},
                                                     {0, INT64_MAX, 3}}) {
    pair = three_sequences();
    pair.documents = documents;
    for (const RecordIs record : {RecordIs::kDocument, RecordIs::kSequence}) {
      CHECK(
          pair_refusal(pair, record).find(" of its document index, which should go from 0 to 3") !=
          std::string::npos);
    }
  }
  pair = three_sequences();
  pair.documents = {};
  CHECK(pair_refusal(pair).find("has an empty document index") == 0);
  pair = three_sequences();
  pair.ids.pop_back();
  CHECK(pair_refusal(pair) ==
        "has sequence 2 of 4 bytes at byte 20 of the .bin, which has 23: the .bin was "
        "cut, or the two do not belong together");
}

TEST_CASE("Megatron: a document in pieces is refused, its sequences can be read") {
  MegatronPair pair = three_sequences();
  std::swap(pair.places[0], pair.places[1]);
  std::swap(pair.lengths[0], pair.lengths[1]);
  CHECK(
      pair_refusal(pair).find("has a document, number 0, whose sequences do not lie one behind the "
                              "other") == 0);
  CHECK(pair_refusal(pair, RecordIs::kSequence) == "");
}

TEST_CASE("Megatron: an index cut at any byte, or with a byte too many, is told") {
  const TempFolder folder;
  const std::string whole = three_sequences().idx();
  three_sequences().write(folder);
  for (std::size_t n = 0; n <= whole.size() + 1; ++n) {
    if (n == whole.size()) continue;
    const std::string idx = folder.write("a.idx", (whole + "xx").substr(0, n));
    const auto source =
        Source::open(settings_for({idx}, RecordIs::kDocument), folder.path("state"));
    REQUIRE_FALSE(source.has_value());
    CHECK(source.error().code == ExitCode::kDataRefused);
  }
}

TEST_CASE("Megatron: random bytes in the index never do harm") {
  const std::string whole = three_sequences().idx();
  Rng rng(11);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    const TempFolder folder;
    std::string hostile = whole;
    for (auto n = 1 + rng.below(4); n > 0; --n) {
      hostile[9 + rng.below(hostile.size() - 9)] = static_cast<char>(rng.below(256));
    }
    three_sequences().write(folder);
    const std::string idx = folder.write("a.idx", hostile);
    const auto source =
        Source::open(settings_for({idx}, RecordIs::kSequence), folder.path("state"));
    if (!source) {
      ++refused;
      continue;
    }
    std::string scratch;
    for (std::uint64_t i = 0; i < (*source)->records(); ++i) {
      CHECK((*source)->read(i, scratch).has_value());
    }
  }
  CHECK(refused > 300);
}

TEST_CASE("Megatron: numbers of sequences that overflow a product are told") {
  for (const std::uint64_t huge : {std::uint64_t{1} << 61, UINT64_MAX, UINT64_MAX / 12 + 1}) {
    const TempFolder folder;
    std::string idx = three_sequences().idx();
    three_sequences().write(folder);
    for (const std::size_t at : {std::size_t{18}, std::size_t{26}}) {
      std::string hostile = idx;
      std::memcpy(hostile.data() + at, &huge, sizeof huge);
      const auto source =
          Source::open(settings_for({folder.write("a.idx", hostile)}, RecordIs::kDocument),
                       folder.path("state"));
      REQUIRE_FALSE(source.has_value());
      CHECK(source.error().text.find("it was cut or is damaged") != std::string::npos);
    }
  }
}

TEST_CASE("Megatron: a .bin that is gone, cut or grown is seen when the pair is opened or read") {
  const TempFolder folder;
  const std::string idx = three_sequences().write(folder);
  auto source = opened_pair(folder, {idx});
  std::filesystem::resize_file(folder.path("a.bin"), 22);
  std::string scratch;
  const auto cut = source->read(1, scratch);
  REQUIRE_FALSE(cut.has_value());
  CHECK(cut.error().code == ExitCode::kDataRefused);
  // Opened again it is held against the new size, though the .idx is as it was.
  const auto again = Source::open(settings_for({idx}, RecordIs::kDocument), folder.path("state"));
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().text.find("the .bin, which has 22") != std::string::npos);
  std::filesystem::remove(folder.path("a.bin"));
  const auto gone = Source::open(settings_for({idx}, RecordIs::kDocument), folder.path("state"));
  REQUIRE_FALSE(gone.has_value());
  CHECK(gone.error().text ==
        folder.path("a.bin") +
            " cannot be opened: No such file or directory: a Megatron source is "
            "the pair NAME.idx and NAME.bin");
}

#include "lib/windows/sample_lengths.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "lib/base/check.h"
#include "lib/corpus/file_lock.h"
#include "lib/hash/xxh3.h"
#include "lib/windows/record_id.h"
#include "lib/windows/record_policy.h"

namespace packline {
namespace {

constexpr std::uint32_t kMany = UINT32_MAX;
constexpr char kMagic[8] = {'P', 'L', 'L', 'E', 'N', 'S', '0', '1'};
constexpr std::size_t kWrittenAtOnce = 1U << 16U;  // words

// Little-endian, before the words: one a record, then for each record of several samples its number
// (two words, the low one first), how many they are, and one word each.
struct Header {
  char magic[8] = {};
  std::uint64_t key = 0;  // what the lengths depend on
  std::uint64_t records = 0;
  std::uint64_t words = 0;   // behind the records'
  std::uint64_t body = 0;    // hash of all words
  std::uint64_t header = 0;  // hash of the above
};
static_assert(sizeof(Header) == 48);

std::uint64_t hash_of(const Header& h) {
  return xxh3({reinterpret_cast<const char*>(&h), offsetof(Header, header)});
}

// What of a job's identity the lengths depend on.
std::uint64_t key_of(const Job& job) {
  Hasher hash;
  for (const auto& [key, value] : job.identity) {
    const bool counts = key.starts_with("sources") || key.starts_with("encode") ||
                        key.starts_with("eval.") || key == "pack.over_long" ||
                        key == "pack.drop_unsupervised" || key == "pack.capacity" || key == "seed";
    if (!counts || key.ends_with(".weight") || key.ends_with(".repeat")) continue;
    hash.add(xxh3(key));
    hash.add(xxh3(value));
  }
  return hash.value();
}

std::string_view bytes_of(std::span<const std::uint32_t> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size_bytes()};
}

}  // namespace

// One pass over all records, in the order of the sources.
struct LengthsPass {
  const Job& job;
  const Sources& sources;
  Encoders& encoders;
  const Say& say;

  Fd file;
  std::string path;
  std::uint64_t written = sizeof(Header);  // bytes
  std::vector<std::uint32_t> words;        // to be written
  std::vector<std::uint32_t> many;         // the words behind the records'
  Hasher body;
  std::uint64_t records = 0;

  Status flush() {
    const std::string_view bytes = bytes_of(words);
    if (Status ok = write_at(file, path, written, bytes.data(), bytes.size()); !ok) return ok;
    body.add(xxh3(bytes));
    written += bytes.size();
    words.clear();
    return {};
  }

  Status add(const std::vector<SampleLengths::Length>& samples) {
    if (samples.size() > 1) {
      words.push_back(kMany);
      many.push_back(static_cast<std::uint32_t>(records));
      many.push_back(static_cast<std::uint32_t>(records >> 32U));
      many.push_back(static_cast<std::uint32_t>(samples.size()));
      for (const auto& s : samples) many.push_back(s.word);
    } else {
      words.push_back(samples.empty() ? 0 : samples[0].word);
    }
    ++records;
    return words.size() < kWrittenAtOnce ? Status{} : flush();
  }

  Status read_source(std::uint32_t s, std::uint64_t of_all, LongWork& progress) {
    std::vector<SourceShare> only(sources.size());
    only[s].records = sources[s]->records();
    const auto order = std::make_shared<const EpochOrder>(
        std::move(only), ShuffleSettings{ShuffleKind::kNone, 0}, job.seed, 0);
    const RecordPolicy policy(job);
    ReadAhead reading(sources, encoders.open_pool(), job.seed, 1, job.selection());
    reading.restart(0, order, 0, {}, 0);
    while (reading.more(0)) {
      reading.fill(0, UINT64_MAX, true);
      Result<EncodedRecord> record = reading.next(0);
      if (!record) return tl::unexpected<Error>(record.error());
      if (record->passed_over) {
        if (Status ok = add({}); !ok) return ok;
        continue;
      }
      RecordPlace at{record->number, {}, {}};
      if (worth_a_word(policy, record->encoded)) {
        at.id = record_id(record->ref);
        at.where = sources[s]->where(record->ref.record);
      }
      const Result<JudgedRecord> judged = judge(policy, at, std::move(record->encoded));
      if (!judged) return tl::unexpected<Error>(judged.error());
      if (Status ok = add(SampleLengths::lengths_of(judged->samples, judged->packable)); !ok)
        return ok;
      progress.tick([&](std::int64_t seconds) {
        return fmt::format(
            "the pass for the lengths (pack.plan: global) has read {} of {} records "
            "in {} s",
            records, of_all, seconds);
      });
    }
    return {};
  }

  // The file, under another name; it becomes the one in use when it is whole.
  Status make(const std::string& final_path) {
    path = final_path + ".new";
    auto opened = open_to_write(path, O_TRUNC);
    if (!opened) return tl::unexpected(opened.error());
    file = std::move(*opened);
    std::uint64_t of_all = 0;
    for (const auto& source : sources) of_all += source->records();
    LongWork progress(say);
    for (std::uint32_t s = 0; s < sources.size(); ++s)
      if (Status ok = read_source(s, of_all, progress); !ok) return ok;
    if (Status ok = flush(); !ok) return ok;
    words = many;
    if (Status ok = flush(); !ok) return ok;
    Header header;
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.key = key_of(job);
    header.records = records;
    header.words = many.size();
    header.body = body.value();
    header.header = hash_of(header);
    Status ok = write_at(file, path, 0, reinterpret_cast<const char*>(&header), sizeof header);
    return ok ? put_in_place(path, final_path) : ok;
  }
};

namespace {

// The file's content, if it is whole and what this job needs.
std::optional<std::pair<Mapping, Header>> whole_file(const std::string& path, std::uint64_t key,
                                                     std::uint64_t records) {
  if (::access(path.c_str(), F_OK) != 0) return std::nullopt;
  const auto file = open_to_read(path);
  if (!file) return std::nullopt;
  const auto stamp = stamp_of(*file, path);
  if (!stamp || stamp->size < sizeof(Header)) return std::nullopt;
  auto mapping = Mapping::of(*file, path, stamp->size);
  if (!mapping) return std::nullopt;
  Header h;
  std::memcpy(&h, mapping->data(), sizeof h);
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0 || h.header != hash_of(h) || h.key != key ||
      h.records != records)
    return std::nullopt;
  const std::uint64_t room = (stamp->size - sizeof h) / sizeof(std::uint32_t);
  if (h.words > room || h.records != room - h.words) return std::nullopt;
  // As it was written: in pieces.
  const auto* words = reinterpret_cast<const std::uint32_t*>(mapping->data() + sizeof h);
  Hasher body;
  for (std::uint64_t at = 0; at < h.records;) {
    const std::uint64_t n = std::min<std::uint64_t>(kWrittenAtOnce, h.records - at);
    body.add(xxh3(bytes_of({words + at, n})));
    at += n;
  }
  if (h.records % kWrittenAtOnce == 0) body.add(xxh3(std::string_view()));
  body.add(xxh3(bytes_of({words + h.records, h.words})));
  if (body.value() != h.body) return std::nullopt;
  return std::pair(std::move(*mapping), h);
}

}  // namespace

std::vector<SampleLengths::Length> SampleLengths::lengths_of(
    const Samples& samples, const std::vector<std::uint32_t>& packable) {
  std::vector<Length> lengths(samples.size());
  for (const std::uint32_t i : packable) {
    PL_CHECK(samples.lengths[i] < Length::kMedia);
    lengths[i].word = samples.lengths[i] | (is_media(samples, i) ? Length::kMedia : 0);
  }
  return lengths;
}

Result<SampleLengths> SampleLengths::open(const Job& job, const Sources& sources,
                                          Encoders& encoders, const Say& say) {
  SampleLengths found;
  std::uint64_t records = 0;
  for (const auto& source : sources) {
    found.first_.push_back(records);
    records += source->records();
  }
  const std::uint64_t key = key_of(job);
  const std::string folder = job.state + "/lengths";
  if (Status ok = make_folder(folder); !ok) return tl::unexpected(ok.error());
  const std::string path = fmt::format("{}/{:016x}.lens", folder, key);
  const auto lock = lock_file(path + ".lock", "the pass for the lengths is made", say);
  if (!lock) return tl::unexpected(lock.error());
  auto whole = whole_file(path, key, records);
  if (!whole) {
    LengthsPass pass{job, sources, encoders, say, {}, {}, sizeof(Header), {}, {}, {}, 0};
    if (Status ok = pass.make(path); !ok) {
      ::unlink(pass.path.c_str());
      return tl::unexpected(ok.error());
    }
    whole = whole_file(path, key, records);
    if (!whole)
      return fail(ExitCode::kWrongJob,
                  fmt::format("{} is not what was written to it: is its disk in order?", path));
  }
  found.mapping_ = std::move(whole->first);
  const auto* words = reinterpret_cast<const Length*>(found.mapping_.data() + sizeof(Header));
  found.records_ = {words, records};
  const std::span<const Length> many(words + records, whole->second.words);
  for (std::size_t at = 0; at + 3 <= many.size();) {
    const std::uint64_t record = many[at].word | std::uint64_t{many[at + 1].word} << 32U;
    const std::uint32_t n = many[at + 2].word;
    at += 3;
    PL_CHECK(n <= many.size() - at);
    found.many_.emplace(record, many.subspan(at, n));
    at += n;
  }
  return found;
}

std::span<const SampleLengths::Length> SampleLengths::of(std::uint32_t source,
                                                         std::uint64_t record) const {
  const std::uint64_t number = first_[source] + record;
  const std::span<const Length> one = records_.subspan(number, 1);
  if (one[0].word == kMany) return many_.at(number);
  return one[0].word == 0 ? std::span<const Length>() : one;
}

}  // namespace packline

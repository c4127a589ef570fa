#include "lib/corpus/megatron.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "lib/corpus/binary_tokens.h"
#include "lib/corpus/record_scan.h"

namespace packline {
namespace {

using namespace std::string_view_literals;

constexpr auto kMegatronMagic = "MMIDIDX\0\0"sv;
constexpr std::uint64_t kHeaderBytes = 9 + 8 + 1 + 8 + 8;
constexpr std::size_t kArrayBuffer = 8192;   // elements
constexpr std::size_t kRecordsHeld = 32768;  // before they are written

tl::unexpected<Error> bad_idx(const StreamFile& idx, const std::string& what) {
  return fail(ExitCode::kDataRefused, fmt::format("{} {}", idx.path, what));
}

std::optional<RecordForm> form_of(unsigned char code) {
  switch (code) {
    case 1:
      return RecordForm::kU8;
    case 2:
      return RecordForm::kI8;
    case 3:
      return RecordForm::kI16;
    case 4:
      return RecordForm::kI32;
    case 5:
      return RecordForm::kI64;
    case 8:
      return RecordForm::kU16;
    default:
      return std::nullopt;
  }
}

std::uint64_t u64_at(const char* p) {
  std::uint64_t x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

// The elements of one array of the file, one after the other.
template <typename T>
class ArrayReader {
 public:
  ArrayReader(const StreamFile& file, std::uint64_t at, std::uint64_t count)
      : file_(file), at_(at), left_(count) {}

  // There must be one more.
  Result<T> next() {
    if (next_ == buffer_.size()) {
      buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left_, kArrayBuffer)));
      const std::size_t bytes = buffer_.size() * sizeof(T);
      const auto got =
          read_at(*file_.fd, file_.path, at_, reinterpret_cast<char*>(buffer_.data()), bytes);
      if (!got) return tl::unexpected(got.error());
      if (*got < bytes)
        return bad_idx(file_, "shrank while it was read: start again when it is whole");
      at_ += bytes;
      left_ -= buffer_.size();
      next_ = 0;
    }
    return buffer_[next_++];
  }

 private:
  const StreamFile& file_;
  std::uint64_t at_, left_;
  std::vector<T> buffer_;
  std::size_t next_ = 0;
};

// Goes through the sequences of one index file in order.
class Sequences {
 public:
  Sequences(const StreamFile& idx, const MegatronHeader& header, std::uint64_t bin_bytes)
      : idx_(idx),
        width_(token_bytes(header.form)),
        bin_bytes_(bin_bytes),
        lengths_(idx, kHeaderBytes, header.sequences),
        places_(idx, kHeaderBytes + 4 * header.sequences, header.sequences) {}

  struct Span {
    std::uint64_t begin = 0, bytes = 0;
  };
  Result<Span> next() {
    const auto length = lengths_.next();
    if (!length) return tl::unexpected(length.error());
    const auto place = places_.next();
    if (!place) return tl::unexpected(place.error());
    const std::uint64_t number = number_++;
    if (*length < 0) {
      return bad_idx(idx_, fmt::format("gives sequence {} a length of {} tokens: it is damaged",
                                       number, *length));
    }
    const Span span{static_cast<std::uint64_t>(*place),
                    static_cast<std::uint64_t>(*length) * width_};
    if (*place < 0 || span.begin > bin_bytes_ || span.bytes > bin_bytes_ - span.begin) {
      return bad_idx(idx_,
                     fmt::format("has sequence {} of {} bytes at byte {} of the .bin, which "
                                 "has {}: the .bin was cut, or the two do not belong together",
                                 number, span.bytes, *place, bin_bytes_));
    }
    return span;
  }

 private:
  const StreamFile& idx_;
  const std::uint64_t width_, bin_bytes_;
  ArrayReader<std::int32_t> lengths_;
  ArrayReader<std::int64_t> places_;
  std::uint64_t number_ = 0;
};

// Collects records and writes them now and then.
class Records {
 public:
  explicit Records(IndexWriter& out) : out_(out) {}

  Status add(const StreamFile& idx, RecordIs record, std::uint64_t number, Sequences::Span span) {
    if (span.bytes > kRecordBytesMax) {
      return bad_idx(idx, fmt::format("has {} {} of {} bytes, and at most {} are taken",
                                      record == RecordIs::kDocument ? "document" : "sequence",
                                      number, span.bytes, kRecordBytesMax));
    }
    entries_.push_back({span.begin, static_cast<std::uint32_t>(span.bytes), 0});
    return entries_.size() < kRecordsHeld ? Status{} : flush();
  }
  Status flush() {
    auto ok = out_.add(entries_);
    entries_.clear();
    return ok;
  }

 private:
  IndexWriter& out_;
  std::vector<IndexEntry> entries_;
};

// The sequences up to `end`, from `from` on, as one piece of the .bin.
Result<Sequences::Span> join(const StreamFile& idx, std::uint64_t document, std::uint64_t from,
                             std::uint64_t end, Sequences& sequences) {
  Sequences::Span all;
  for (std::uint64_t s = from; s < end; ++s) {
    auto one = sequences.next();
    if (!one) return one;
    if (one->bytes == 0) continue;
    if (all.bytes == 0) all.begin = one->begin;
    if (one->begin != all.begin + all.bytes) {
      return bad_idx(idx, fmt::format("has a document, number {}, whose sequences do not lie one "
                                      "behind the other in the .bin: set the source's record: "
                                      "sequence",
                                      document));
    }
    all.bytes += one->bytes;
  }
  return all;
}

}  // namespace

Result<MegatronHeader> read_megatron_header(const StreamFile& idx) {
  std::array<char, kHeaderBytes> bytes;
  const auto got = read_at(*idx.fd, idx.path, 0, bytes.data(), bytes.size());
  if (!got) return tl::unexpected(got.error());
  if (!std::string_view(bytes.data(), *got).starts_with(kMegatronMagic)) {
    return bad_idx(idx, "does not begin with MMIDIDX: it is no index of Megatron's");
  }
  if (*got < bytes.size()) return bad_idx(idx, "ends within its header: it was cut");
  const char* p = bytes.data() + kMegatronMagic.size();
  if (const std::uint64_t version = u64_at(p); version != 1) {
    return bad_idx(idx, fmt::format("is of version {}, and only 1 is read", version));
  }
  const auto code = static_cast<unsigned char>(p[8]);
  const auto form = form_of(code);
  if (!form) {
    return bad_idx(idx,
                   code == 6 || code == 7
                       ? "holds floating-point numbers, which are no token ids"
                       : fmt::format("has dtype {}, which is none of 1 to 8: it is damaged", code));
  }
  const std::uint64_t sequences = u64_at(p + 9), entries = u64_at(p + 17);
  const std::uint64_t body = idx.size - std::min(idx.size, kHeaderBytes);
  // Compared so that no product can overflow.
  const bool fits = sequences <= body / 12 && entries <= (body - 12 * sequences) / 8;
  const std::uint64_t arrays = fits ? 12 * sequences + 8 * entries : 0;
  if (!fits || (body != arrays && body != arrays + sequences)) {
    return bad_idx(idx,
                   fmt::format("has {} bytes, which is not what {} sequences and {} entries of "
                               "documents take: it was cut or is damaged",
                               idx.size, sequences, entries));
  }
  if (entries == 0) {
    return bad_idx(idx, "has an empty document index: at least its end should stand there");
  }
  return MegatronHeader{*form, sequences, entries - 1};
}

Status scan_megatron(const StreamFile& idx, const MegatronHeader& header, std::uint64_t bin_bytes,
                     RecordIs record, IndexWriter& out, const Say& say) {
  Sequences sequences(idx, header, bin_bytes);
  ArrayReader<std::int64_t> firsts(idx, kHeaderBytes + 12 * header.sequences, header.documents + 1);
  Records records(out);
  LongWork progress(say);
  std::uint64_t at = 0;  // the next sequence
  for (std::uint64_t d = 0; d <= header.documents; ++d) {
    const auto first = firsts.next();
    if (!first) return tl::unexpected(first.error());
    const bool ends = d == header.documents;
    if (*first < static_cast<std::int64_t>(at) || (d == 0 && *first != 0) ||
        static_cast<std::uint64_t>(*first) > header.sequences ||
        (ends && static_cast<std::uint64_t>(*first) != header.sequences)) {
      return bad_idx(idx, fmt::format("has {} at place {} of its document index, which should go "
                                      "from 0 to {} in order: it is damaged",
                                      *first, d, header.sequences));
    }
    const auto end = static_cast<std::uint64_t>(*first);
    if (d == 0) continue;
    if (record == RecordIs::kDocument) {
      const auto whole = join(idx, d - 1, at, end, sequences);
      if (!whole) return tl::unexpected(whole.error());
      if (auto ok = records.add(idx, record, d - 1, *whole); !ok) return ok;
    } else {
      for (std::uint64_t s = at; s < end; ++s) {
        const auto one = sequences.next();
        if (!one) return tl::unexpected(one.error());
        if (auto ok = records.add(idx, record, s, *one); !ok) return ok;
      }
    }
    at = end;
    progress.tick([&](std::int64_t seconds) {
      return fmt::format("indexes {}: {} of {} sequences, {} s", idx.path, at, header.sequences,
                         seconds);
    });
  }
  out.set_bytes(bin_bytes);
  return records.flush();
}

}  // namespace packline

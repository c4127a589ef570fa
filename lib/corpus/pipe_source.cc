#include "lib/corpus/pipe_source.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "lib/base/check.h"
#include "lib/corpus/array_scan.h"
#include "lib/corpus/byte_stream.h"
#include "lib/corpus/line_scan.h"
#include "lib/corpus/read_as.h"
#include "lib/hash/xxh3.h"

namespace packline {
namespace {

constexpr std::size_t kPipeReadBytes = std::size_t{256} << 10;
constexpr std::size_t kHeadBytes = 16;                   // enough to know how it is packed
constexpr std::size_t kBlankMax = std::size_t{1} << 20;  // before a text that may be an array
constexpr std::uint64_t kRecordCost = 64;                // of a record, beside its bytes
constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

}  // namespace

PipeSource::PipeSource(const SourceSettings& settings, const std::string& state_folder,
                       std::uint64_t kept_bytes)
    : settings_(settings), kept_bytes_(kept_bytes), reader_(settings.files.at(0), state_folder) {}

Result<std::unique_ptr<PipeSource>> PipeSource::open(const SourceSettings& settings,
                                                     const std::string& state_folder,
                                                     std::uint64_t kept_bytes) {
  std::unique_ptr<PipeSource> source(new PipeSource(settings, state_folder, kept_bytes));
  if (auto ok = source->reader_.unread(); !ok) return tl::unexpected(ok.error());
  return source;
}

std::uint64_t PipeSource::content_hash() const { return xxh3("a pipe"); }

Result<PipeSource::Reach> PipeSource::reach(std::uint64_t wanted, std::uint64_t needed, bool wait) {
  while (records() < wanted && !ended_) {
    while (bytes_ > kept_bytes_ && first_ < needed && !kept_.empty()) let_go();
    if (bytes_ > kept_bytes_ && !kept_.empty()) {
      return fail(
          ExitCode::kDataRefused,
          fmt::format("{}: {} records take {}, and {} of a pipe are kept; blocks of shuffle.size: "
                      "{} are read as a whole: set it to {} or less",
                      path(), kept_.size(), size_text(bytes_), size_text(kept_bytes_),
                      wanted - needed, kept_.size() / 2));
    }
    buffer_.resize(kPipeReadBytes);
    const auto got = reader_.read(buffer_.data(), buffer_.size(), wait);
    if (!got) return tl::unexpected(got.error());
    if (got->bytes == 0 && !got->ended) break;
    if (auto ok = take({buffer_.data(), got->bytes}, got->ended); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  return Reach{records(), ended_};
}

// Chooses the scanner once the text's beginning is there; false when it is not. Nothing is known of
// a text before its first line or its first bytes, whichever end first.
Result<bool> PipeSource::begin(bool ended) {
  const bool line = text_.find('\n') != std::string::npos;
  if (!ended && !line && text_.size() < kHeadBytes) return false;
  const std::size_t skip = text_.starts_with(kUtf8Mark) ? kUtf8Mark.size() : 0;
  ReadAs read_as = read_as_of(settings_.read_as, path());
  if (read_as == ReadAs::kJson && settings_.read_as == ReadAs::kAuto) {
    const std::size_t at = text_.find_first_not_of(" \t\r\n", skip);
    if (at == std::string::npos && !ended && text_.size() < kBlankMax) return false;
    if (at == std::string::npos || text_[at] != '[') read_as = ReadAs::kJsonl;
  }
  const auto packed = compression_by(std::string_view(text_).substr(0, kHeadBytes), path());
  if (!packed) return tl::unexpected(packed.error());
  if (*packed != Compression::kNone) {
    return fail(
        ExitCode::kDataRefused,
        fmt::format("what comes through the pipe {} is packed by {}: unpack it on its way, "
                    "as in `{} FILE > PIPE`",
                    path(), name_of(*packed), *packed == Compression::kGzip ? "zcat" : "zstdcat"));
  }
  if (read_as == ReadAs::kJson) {
    scanner_ = std::make_unique<ArrayScanner>();
  } else {
    scanner_ = std::make_unique<LineScanner>();
  }
  if (skip > 0) scanner_->skip(skip);
  scanner_->feed(text_.data() + skip, text_.data() + text_.size());
  return true;
}

Status PipeSource::take(std::string_view bytes, bool ended) {
  text_ += bytes;
  if (!scanner_) {
    const auto begun = begin(ended);
    if (!begun) return tl::unexpected(begun.error());
    if (!*begun) return {};
  } else {
    scanner_->feed(bytes.data(), bytes.data() + bytes.size());
  }
  if (ended) scanner_->finish();
  if (const std::string trouble = scanner_->trouble(); !trouble.empty()) {
    return fail(ExitCode::kDataRefused, path() + trouble);
  }
  keep_records();
  if (text_.size() > kRecordBytesMax) {
    return fail(ExitCode::kDataRefused,
                fmt::format("{}: a record has more than {} bytes, which are the most that are "
                            "taken: JSONL has one record a line",
                            path(), kRecordBytesMax));
  }
  ended_ = ended;
  return {};
}

void PipeSource::keep_records() {
  for (const IndexEntry& e : scanner_->entries) {
    kept_.push_back(
        {text_.substr(static_cast<std::size_t>(e.offset - text_at_), e.length), e.line});
    bytes_ += e.length + kRecordCost;
  }
  scanner_->entries.clear();
  const std::uint64_t pending = scanner_->pending();
  PL_CHECK(pending >= text_at_ && pending - text_at_ <= text_.size());
  text_.erase(0, static_cast<std::size_t>(pending - text_at_));
  text_at_ = pending;
  if (text_.size() < kPipeReadBytes && text_.capacity() > 4 * kPipeReadBytes) text_.shrink_to_fit();
}

void PipeSource::let_go() {
  bytes_ -= kept_.front().bytes.size() + kRecordCost;
  kept_.pop_front();
  ++first_;
}

void PipeSource::forget(std::uint64_t record) {
  while (first_ < record && !kept_.empty()) let_go();
}

Result<RawRecord> PipeSource::read(std::uint64_t i, std::string&) const {
  PL_CHECK(i < records());
  if (i < first_) {
    return fail(ExitCode::kDataRefused,
                fmt::format("record {} of the pipe {} is not kept any more, and a pipe cannot go "
                            "back",
                            i, path()));
  }
  const Kept& record = kept_[static_cast<std::size_t>(i - first_)];
  const bool text = read_as_of(settings_.read_as, path()) == ReadAs::kLines;
  return RawRecord{record.bytes, 0, record.line, text ? RecordForm::kText : RecordForm::kJson};
}

std::string PipeSource::where(std::uint64_t i) const {
  if (i < first_ || i >= records()) return fmt::format("{}:record {}", path(), i);
  return fmt::format("{}:{}", path(), kept_[static_cast<std::size_t>(i - first_)].line);
}

}  // namespace packline

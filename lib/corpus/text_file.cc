#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/check.h"
#include "lib/corpus/array_scan.h"
#include "lib/corpus/index.h"
#include "lib/corpus/line_scan.h"
#include "lib/corpus/read_as.h"
#include "lib/corpus/source_file.h"
#include "lib/corpus/unpacked.h"

namespace packline {
namespace {

// Records that an index knows, in a file's content.
class TextFile final : public SourceFile {
 public:
  struct Opened {
    std::string path;  // as the user knows it
    ReadAs read_as;
    FileIndex index;              // of the content as it is read
    std::uint64_t size, content;  // of the file as the user knows it
    const FileContents& contents;
    std::size_t number;  // in contents
  };

  explicit TextFile(Opened opened) : o_(std::move(opened)) {}

  std::uint64_t records() const override { return o_.index.entries().size(); }

  std::string where(std::uint64_t i) const override {
    return fmt::format("{}:{}", o_.path, o_.index.entries()[static_cast<std::size_t>(i)].line);
  }

  void add_content(Hasher& hash) const override {
    hash.add(o_.size);
    hash.add(o_.content);
  }

  Result<RawRecord> read(std::uint64_t i, std::string& scratch) const override {
    const IndexEntry entry = o_.index.entries()[static_cast<std::size_t>(i)];
    // One byte more: a record ends where its line, its element or the file does, else the file was
    // rewritten.
    const std::size_t want = std::size_t{entry.length} + 1;
    char* to = room_in(scratch, want);
    const auto got = o_.contents.read(o_.number, entry.offset, to, want);
    if (!got) return tl::unexpected(got.error());
    const bool whole =
        *got == want ? ends_with(to[entry.length])
                     : *got == entry.length && entry.offset + entry.length == o_.index.bytes();
    if (!whole) {
      return fail(ExitCode::kDataRefused,
                  fmt::format("{}:{}: the file was cut or changed while it was in use: start "
                              "again when it is whole",
                              o_.path, entry.line));
    }
    return RawRecord{std::string_view(to, entry.length), 0, entry.line,
                     o_.read_as == ReadAs::kLines ? RecordForm::kText : RecordForm::kJson};
  }

 private:
  bool ends_with(char c) const {
    if (c == '\n' || c == '\r') return true;
    return o_.read_as == ReadAs::kJson && (c == ',' || c == ']' || c == ' ' || c == '\t');
  }

  const Opened o_;
};

// Whether the content's first byte that is not blank is a [.
Result<bool> begins_array(const std::string& file, Compression compression) {
  auto fd = open_to_read(file);
  if (!fd) return tl::unexpected(fd.error());
  const auto stamp = stamp_of(*fd, file);
  if (!stamp) return tl::unexpected(stamp.error());
  const auto stream =
      open_stream({std::make_shared<const Fd>(std::move(*fd)), file, stamp->size}, compression);
  std::array<char, 4096> buffer;
  for (bool first = true;; first = false) {
    const auto got = stream->read(buffer.data(), buffer.size());
    if (!got) return tl::unexpected(got.error());
    std::string_view piece(buffer.data(), *got);
    if (first && piece.starts_with("\xEF\xBB\xBF")) piece.remove_prefix(3);
    const std::size_t at = piece.find_first_not_of(" \t\r\n");
    if (at != std::string_view::npos) return piece[at] == '[';
    if (*got < buffer.size()) return false;
  }
}

Result<FileIndex> index_of(const std::string& file, ReadAs read_as, Compression compression,
                           const SourceParts& parts) {
  IndexRecipe recipe;
  recipe.name = fmt::format("{}{}", read_as == ReadAs::kJson ? "array" : "lines",
                            compression == Compression::kNone ? "" : "-packed");
  recipe.variant = static_cast<std::uint64_t>(compression);
  recipe.scan = [&](const StreamFile& data, IndexWriter& out) -> Status {
    const auto stream = open_stream(data, compression);
    LineScanner lines;
    ArrayScanner array;
    RecordScanner& scanner = read_as == ReadAs::kJson ? static_cast<RecordScanner&>(array) : lines;
    return scan_records(*stream, data, scanner, out, parts.say);
  };
  return FileIndex::open(file, parts.state_folder, recipe, parts.say);
}

// Within a block records are read in any order, so a block must fit what is kept of a packed file,
// unless its parts can be unpacked on their own.
Status check_block(const std::string& file, const FileIndex& index,
                   const ShuffleSettings& shuffle) {
  constexpr std::uint64_t kApartMax = std::uint64_t{32} << 20;
  const std::uint64_t records = index.entries().size();
  if (shuffle.kind != ShuffleKind::kBuffer || records == 0) return {};
  const ForwardReader::Limits limits;
  const std::uint64_t kept = limits.cache_bytes / 4 * 3;
  const std::uint64_t block = index.bytes() / records * std::min(shuffle.size, records);
  if (block <= kept) return {};
  std::uint64_t apart = 0, last = 0;
  for (const RestartPoint& p : index.restart_points()) {
    apart = std::max(apart, p.unpacked - last);
    last = p.unpacked;
  }
  apart = std::max(apart, index.bytes() - last);
  if (apart <= kApartMax) return {};
  return fail(
      ExitCode::kWrongJob,
      fmt::format("shuffle.size: {} records of {} are about {} unpacked, and {} of a packed "
                  "file are kept, which would be unpacked again and again; set "
                  "shuffle.size: {} or less, or shuffle.kind: full, which unpacks it once",
                  shuffle.size, file, size_text(block), size_text(kept),
                  std::max<std::uint64_t>(1, kept / (index.bytes() / records + 1))));
}

}  // namespace

char* room_in(std::string& scratch, std::size_t size) {
  constexpr std::size_t kKept = std::size_t{1} << 20;
  if (scratch.capacity() > kKept && size < kKept) scratch = std::string();
  if (scratch.size() < size) scratch.resize(size);
  return scratch.data();
}

Result<std::unique_ptr<SourceFile>> open_text_file(const std::string& file, ReadAs read_as,
                                                   bool guessed, SourceParts& parts) {
  const auto fd = open_to_read(file);
  if (!fd) return tl::unexpected(fd.error());
  const auto compression = compression_of(*fd, file);
  if (!compression) return tl::unexpected(compression.error());
  if (read_as == ReadAs::kJson && guessed) {
    const auto array = begins_array(file, *compression);
    if (!array) return tl::unexpected(array.error());
    if (!*array) read_as = ReadAs::kJsonl;
  }

  const bool packed = *compression != Compression::kNone;
  if (packed && parts.shuffle.kind == ShuffleKind::kFull) {
    const auto copy = unpack(file, *compression, parts.state_folder, parts.say);
    if (!copy) return tl::unexpected(copy.error());
    auto index = index_of(copy->path, read_as, Compression::kNone, parts);
    if (!index) return tl::unexpected(index.error());
    const std::size_t number = parts.plain.add(copy->path, index->stamp());
    return std::make_unique<TextFile>(TextFile::Opened{
        file, read_as, std::move(*index), copy->packed.size, copy->content, parts.plain, number});
  }
  auto index = index_of(file, read_as, *compression, parts);
  if (!index) return tl::unexpected(index.error());
  const std::uint64_t size = index->stamp().size, content = index->content();
  if (!packed) {
    const std::size_t number = parts.plain.add(file, index->stamp());
    return std::make_unique<TextFile>(
        TextFile::Opened{file, read_as, std::move(*index), size, content, parts.plain, number});
  }
  if (auto ok = check_block(file, *index, parts.shuffle); !ok) return tl::unexpected(ok.error());
  const std::size_t number =
      parts.packed.add(file, index->stamp(), *compression, index->restart_points(), index->bytes());
  return std::make_unique<TextFile>(
      TextFile::Opened{file, read_as, std::move(*index), size, content, parts.packed, number});
}

}  // namespace packline

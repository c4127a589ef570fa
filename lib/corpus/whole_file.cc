#include <fmt/format.h>

#include <algorithm>

#include "lib/corpus/content_sample.h"
#include "lib/corpus/record_scan.h"
#include "lib/corpus/source_file.h"

namespace packline {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";

class WholeFile final : public SourceFile {
 public:
  struct Opened {
    std::string path;
    Compression compression;
    std::uint64_t size, content;  // of the file
    bool empty;                   // its content
    const OpenFiles& files;
    std::size_t number;  // in files
  };

  explicit WholeFile(Opened opened) : o_(std::move(opened)) {}

  std::uint64_t records() const override { return o_.empty ? 0 : 1; }
  std::string where(std::uint64_t) const override { return o_.path + ":1"; }
  void add_content(Hasher& hash) const override {
    hash.add(o_.size);
    hash.add(o_.content);
  }

  Result<RawRecord> read(std::uint64_t, std::string& scratch) const override {
    const auto file = o_.files.open(o_.number);
    if (!file) return tl::unexpected(file.error());
    const auto stream = open_stream(*file, o_.compression);
    // What is packed does not say how large it is, so there the room grows with what comes. One
    // byte more than a plain file needs shows where it ends.
    std::size_t want = o_.compression == Compression::kNone
                           ? static_cast<std::size_t>(o_.size) + 1
                           : std::min<std::size_t>(4 * static_cast<std::size_t>(o_.size), 1 << 20);
    std::size_t size = 0;
    room_in(scratch, want);
    for (;;) {
      if (scratch.size() < want) scratch.resize(want);
      const auto got = stream->read(scratch.data() + size, want - size);
      if (!got) return tl::unexpected(got.error());
      size += *got;
      if (size < want) break;
      if (size > kRecordBytesMax) {
        return fail(ExitCode::kDataRefused,
                    fmt::format("{} has more than {} bytes, which is too much for one record: set "
                                "the source's read_as: lines",
                                o_.path, kRecordBytesMax));
      }
      want *= 2;
    }
    std::string_view bytes(scratch.data(), size);
    if (bytes.starts_with(kMark)) bytes.remove_prefix(kMark.size());
    return RawRecord{bytes, 0, 1, RecordForm::kText};
  }

 private:
  const Opened o_;
};

}  // namespace

Result<std::unique_ptr<SourceFile>> open_whole_file(const std::string& path, SourceParts& parts) {
  auto fd = open_to_read(path);
  if (!fd) return tl::unexpected(fd.error());
  const auto stamp = stamp_of(*fd, path);
  if (!stamp) return tl::unexpected(stamp.error());
  const auto compression = compression_of(*fd, path);
  if (!compression) return tl::unexpected(compression.error());
  const auto content = content_sample(*fd, path, stamp->size);
  if (!content) return tl::unexpected(content.error());
  const StreamFile file{std::make_shared<const Fd>(std::move(*fd)), path, stamp->size};
  char first;
  const auto got = open_stream(file, *compression)->read(&first, 1);
  if (!got) return tl::unexpected(got.error());
  const std::size_t number = parts.plain.add(path, *stamp);
  return std::make_unique<WholeFile>(
      WholeFile::Opened{path, *compression, stamp->size, *content, *got == 0, parts.plain, number});
}

}  // namespace packline

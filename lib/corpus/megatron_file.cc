#include <fmt/format.h>
#include <sys/stat.h>

#include "lib/corpus/binary_tokens.h"
#include "lib/corpus/content_sample.h"
#include "lib/corpus/megatron.h"
#include "lib/corpus/source_file.h"

namespace packline {
namespace {

struct Half {
  StreamFile file;
  FileStamp stamp;
};

Result<Half> open_half(const std::string& path) {
  auto fd = open_to_read(path);
  if (!fd) {
    return fail(fd.error().code, fd.error().text +
                                     ": a Megatron source is the pair NAME.idx and "
                                     "NAME.bin");
  }
  const auto stamp = stamp_of(*fd, path);
  if (!stamp) return tl::unexpected(stamp.error());
  return Half{{std::make_shared<const Fd>(std::move(*fd)), path, stamp->size}, *stamp};
}

class MegatronFile final : public SourceFile {
 public:
  struct Opened {
    std::string base;
    RecordIs record;
    RecordForm form;
    FileIndex index;
    std::uint64_t bin_size, bin_content;
    const OpenFiles& files;
    std::size_t number;  // of the .bin, in files
  };

  explicit MegatronFile(Opened opened) : o_(std::move(opened)) {}

  std::uint64_t records() const override { return o_.index.entries().size(); }

  std::string where(std::uint64_t i) const override {
    return fmt::format("{}.bin:{} {}", o_.base,
                       o_.record == RecordIs::kDocument ? "document" : "sequence", i);
  }

  void add_content(Hasher& hash) const override {
    hash.add(o_.index.stamp().size);
    hash.add(o_.index.content());
    hash.add(o_.bin_size);
    hash.add(o_.bin_content);
  }

  Result<RawRecord> read(std::uint64_t i, std::string& scratch) const override {
    const IndexEntry entry = o_.index.entries()[static_cast<std::size_t>(i)];
    char* to = room_in(scratch, entry.length);
    const auto got = o_.files.read(o_.number, entry.offset, to, entry.length);
    if (!got) return tl::unexpected(got.error());
    if (*got < entry.length) {
      return fail(ExitCode::kDataRefused,
                  fmt::format("{}: the file was cut while it was in use: start again when it is "
                              "whole",
                              where(i)));
    }
    return RawRecord{std::string_view(to, entry.length), 0, i, o_.form};
  }

 private:
  const Opened o_;
};

}  // namespace

Result<std::unique_ptr<SourceFile>> open_megatron(const std::string& base, RecordIs record,
                                                  SourceParts& parts) {
  const auto idx = open_half(base + ".idx");
  if (!idx) return tl::unexpected(idx.error());
  const auto bin = open_half(base + ".bin");
  if (!bin) return tl::unexpected(bin.error());
  const auto header = read_megatron_header(idx->file);
  if (!header) return tl::unexpected(header.error());

  IndexRecipe recipe;
  recipe.name = record == RecordIs::kDocument ? "documents" : "sequences";
  recipe.variant = bin->stamp.size;  // against which every place was held
  recipe.scan = [&](const StreamFile& file, IndexWriter& out) -> Status {
    // Read again: it is this state of the file that is scanned.
    const auto now = read_megatron_header(file);
    if (!now) return tl::unexpected(now.error());
    return scan_megatron(file, *now, bin->stamp.size, record, out, parts.say);
  };
  auto index = FileIndex::open(base + ".idx", parts.state_folder, recipe, parts.say);
  if (!index) return tl::unexpected(index.error());
  const auto content = content_sample(*bin->file.fd, base + ".bin", bin->stamp.size);
  if (!content) return tl::unexpected(content.error());
  const std::size_t number = parts.plain.add(base + ".bin", bin->stamp);
  return std::make_unique<MegatronFile>(MegatronFile::Opened{base, record, header->form,
                                                             std::move(*index), bin->stamp.size,
                                                             *content, parts.plain, number});
}

}  // namespace packline

#include "lib/corpus/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "lib/base/check.h"
#include "lib/corpus/file.h"
#include "lib/corpus/index.h"
#include "lib/hash/xxh3.h"

namespace packline {
namespace {

// A source may have more files than a process may have open, so only so many stay open.
constexpr std::size_t kOpenFilesMax = 256;
// A reader's scratch that grew beyond this for one long record is let go at the next short one.
constexpr std::size_t kScratchKept = std::size_t{1} << 20;

class JsonlSource final : public Source {
 public:
  explicit JsonlSource(const SourceSettings& settings) : settings_(settings) {}

  Status add(const std::string& file, const std::string& state_folder) {
    auto index = FileIndex::open(file, state_folder);
    if (!index) return tl::unexpected(index.error());
    records_ += index->entries().size();
    ends_.push_back(records_);
    hash_.add(index->stamp().size);
    hash_.add(index->content());
    files_.push_back({file, std::move(*index), nullptr, 0});
    return {};
  }

  std::uint64_t records() const override { return records_; }
  const SourceSettings& settings() const override { return settings_; }
  std::uint64_t content_hash() const override { return hash_.value(); }

  std::string where(std::uint64_t i) const override {
    const auto [file, entry] = find(i);
    return fmt::format("{}:{}", files_[file].path, entry.line);
  }

  Result<RawRecord> read(std::uint64_t i, std::string& scratch) const override {
    const auto [number, entry] = find(i);
    const File& file = files_[number];
    const auto fd = opened(number);
    if (!fd) return tl::unexpected(fd.error());
    // One byte more: a record ends where its line or the file does, else the file was rewritten.
    const std::size_t want = std::size_t{entry.length} + 1;
    if (scratch.capacity() > kScratchKept && want < kScratchKept) scratch = std::string();
    if (scratch.size() < want) scratch.resize(want);
    const auto got = read_at(**fd, file.path, entry.offset, scratch.data(), want);
    if (!got) return tl::unexpected(got.error());
    const bool whole =
        *got == want
            ? (scratch[entry.length] == '\n' || scratch[entry.length] == '\r')
            : *got == entry.length && entry.offset + entry.length == file.index.stamp().size;
    if (!whole) {
      return fail(ExitCode::kDataRefused,
                  fmt::format("{}:{}: the file was cut or changed while it was in use: start "
                              "again when it is whole",
                              file.path, entry.line));
    }
    return RawRecord{std::string_view(scratch.data(), entry.length),
                     static_cast<std::uint32_t>(number), entry.line};
  }

 private:
  struct File {
    std::string path;
    FileIndex index;
    mutable std::shared_ptr<const Fd> fd;  // guarded by mutex_
    mutable std::uint64_t last_used = 0;   // guarded by mutex_
  };

  std::pair<std::size_t, IndexEntry> find(std::uint64_t i) const {
    PL_CHECK(i < records_);
    const auto at = std::upper_bound(ends_.begin(), ends_.end(), i);
    const auto number = static_cast<std::size_t>(at - ends_.begin());
    const std::uint64_t first = number == 0 ? 0 : ends_[number - 1];
    return {number, files_[number].index.entries()[static_cast<std::size_t>(i - first)]};
  }

  // The file, open; shared, so that it stays open under a reader when it is closed here.
  Result<std::shared_ptr<const Fd>> opened(std::size_t number) const {
    const std::lock_guard guard(mutex_);
    const File& file = files_[number];
    file.last_used = ++uses_;
    if (file.fd) return file.fd;
    auto fd = open_to_read(file.path);
    if (!fd) return tl::unexpected(fd.error());
    const auto now = stamp_of(*fd, file.path);
    if (!now) return tl::unexpected(now.error());
    const FileStamp& was = file.index.stamp();
    if (now->inode != was.inode || now->device != was.device || now->size < was.size) {
      return fail(ExitCode::kDataRefused,
                  fmt::format("{} was replaced or cut while it was in use: start again when it is "
                              "whole",
                              file.path));
    }
    if (++open_files_ > kOpenFilesMax) close_one();
    file.fd = std::make_shared<const Fd>(std::move(*fd));
    return file.fd;
  }

  void close_one() const {
    const File* oldest = nullptr;
    for (const File& f : files_) {
      if (f.fd && (oldest == nullptr || f.last_used < oldest->last_used)) oldest = &f;
    }
    oldest->fd.reset();
    --open_files_;
  }

  const SourceSettings settings_;
  std::vector<File> files_;
  std::vector<std::uint64_t> ends_;  // the number of records up to and with each file
  std::uint64_t records_ = 0;
  Hasher hash_;
  mutable std::mutex mutex_;
  mutable std::uint64_t uses_ = 0;
  mutable std::size_t open_files_ = 0;
};

}  // namespace

Result<std::unique_ptr<Source>> Source::open(const SourceSettings& settings,
                                             const std::string& state_folder) {
  if (settings.files.empty()) {
    return fail(
        ExitCode::kWrongJob,
        fmt::format("the source \"{}\" has no files: name some that exist", settings.pattern));
  }
  auto source = std::make_unique<JsonlSource>(settings);
  for (const std::string& file : settings.files) {
    if (auto ok = source->add(file, state_folder); !ok) return tl::unexpected(ok.error());
  }
  return source;
}

}  // namespace packline

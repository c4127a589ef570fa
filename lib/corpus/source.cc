#include "lib/corpus/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/check.h"
#include "lib/corpus/read_as.h"
#include "lib/corpus/source_file.h"
#include "lib/hash/xxh3.h"

namespace packline {
namespace {

// All files of a source, their records numbered through.
class FilesSource final : public Source {
 public:
  FilesSource(const SourceSettings& settings, const std::string& state_folder,
              const ShuffleSettings& shuffle, const Say& say)
      : settings_(settings), parts_(state_folder, shuffle, say) {}

  Status add(std::size_t number) {
    const std::string& file = settings_.files[number];
    const ReadAs read_as = read_as_of(settings_.read_as, file);
    if (!goes_with(read_as, settings_.format)) {
      return fail(ExitCode::kWrongJob,
                  fmt::format("{}: {}", file, why_not(read_as, settings_.format)));
    }
    if (read_as == ReadAs::kMegatron && !bases_.insert(megatron_base(file)).second) {
      return {};  // the other half of a pair that was added already
    }
    auto opened = open(file, read_as);
    if (!opened) return tl::unexpected(opened.error());
    records_ += (*opened)->records();
    ends_.push_back(records_);
    (*opened)->add_content(hash_);
    files_.push_back({static_cast<std::uint32_t>(number), std::move(*opened)});
    return {};
  }

  std::uint64_t records() const override { return records_; }
  const SourceSettings& settings() const override { return settings_; }
  std::uint64_t content_hash() const override { return hash_.value(); }

  std::string where(std::uint64_t i) const override {
    const auto [at, first] = find(i);
    return files_[at].file->where(i - first);
  }

  Result<RawRecord> read(std::uint64_t i, std::string& scratch) const override {
    const auto [at, first] = find(i);
    auto record = files_[at].file->read(i - first, scratch);
    if (record) record->file = files_[at].number;
    return record;
  }

 private:
  struct Part {
    std::uint32_t number;  // in settings_.files
    std::unique_ptr<SourceFile> file;
  };

  Result<std::unique_ptr<SourceFile>> open(const std::string& file, ReadAs read_as) {
    switch (read_as) {
      case ReadAs::kFiles:
        return open_whole_file(file, parts_);
      case ReadAs::kMegatron:
        if (const std::string base = megatron_base(file); !base.empty()) {
          return open_megatron(base, settings_.record, parts_);
        }
        return fail(ExitCode::kWrongJob,
                    fmt::format("{} does not end in .idx or .bin, as the two files of a Megatron "
                                "source do; one that is packed must be unpacked first",
                                file));
      default:
        return open_text_file(file, read_as, settings_.read_as == ReadAs::kAuto, parts_);
    }
  }

  // The file that holds a record, and the number of its first.
  std::pair<std::size_t, std::uint64_t> find(std::uint64_t i) const {
    PL_CHECK(i < records_);
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), i);
    const auto at = static_cast<std::size_t>(end - ends_.begin());
    return {at, at == 0 ? 0 : ends_[at - 1]};
  }

  const SourceSettings settings_;
  SourceParts parts_;
  std::vector<Part> files_;
  std::vector<std::uint64_t> ends_;  // the number of records up to and with each file
  std::set<std::string> bases_;      // of Megatron pairs
  std::uint64_t records_ = 0;
  Hasher hash_;
};

}  // namespace

Result<std::unique_ptr<Source>> Source::open(const SourceSettings& settings,
                                             const std::string& state_folder,
                                             const ShuffleSettings& shuffle, const Say& say) {
  if (settings.files.empty()) {
    return fail(
        ExitCode::kWrongJob,
        fmt::format("the source \"{}\" has no files: name some that exist", settings.pattern));
  }
  auto source = std::make_unique<FilesSource>(settings, state_folder, shuffle, say);
  for (std::size_t i = 0; i < settings.files.size(); ++i) {
    if (auto ok = source->add(i); !ok) return tl::unexpected(ok.error());
  }
  return source;
}

}  // namespace packline

#include "lib/corpus/index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/corpus/content_sample.h"
#include "lib/corpus/file_lock.h"
#include "lib/hash/xxh3.h"

namespace packline {
namespace {

static_assert(std::endian::native == std::endian::little, "the index is mapped as it stands");

constexpr char kIndexMagic[8] = {'P', 'K', 'L', 'I', 'N', 'D', 'E', 'X'};
constexpr std::uint64_t kIndexVersion = 2;

struct IndexHeader {
  char magic[8];
  std::uint64_t version;
  std::uint64_t size;       // of the data file
  std::int64_t changed_ns;  // of the data file
  std::uint64_t content;    // its content sample
  std::uint64_t variant;
  std::uint64_t bytes;  // of its content, unpacked
  std::uint64_t entries;
  std::uint64_t points;
  std::uint64_t body_hash;
  std::uint64_t header_hash;  // of all before
};
static_assert(sizeof(IndexHeader) == kIndexHeaderBytes);
static_assert(sizeof(RestartPoint) == 16);

std::uint64_t hash_of(const IndexHeader& h) {
  return xxh3(
      std::string_view(reinterpret_cast<const char*>(&h), offsetof(IndexHeader, header_hash)));
}
std::string_view body_of(const Mapping& m) {
  return std::string_view(m.data(), m.size()).substr(kIndexHeaderBytes);
}

struct ExistingIndex {
  Fd fd;
  Mapping mapping;
  IndexHeader header;
};

// The index file at `path`, if it is whole and ours.
std::optional<ExistingIndex> whole_index(const std::string& path) {
  ExistingIndex e;
  e.fd = Fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!e.fd.open()) return std::nullopt;
  const auto stamp = stamp_of(e.fd, path);
  if (!stamp || stamp->size < kIndexHeaderBytes) return std::nullopt;
  auto mapping = Mapping::of(e.fd, path, static_cast<std::size_t>(stamp->size));
  if (!mapping) return std::nullopt;
  std::memcpy(&e.header, mapping->data(), kIndexHeaderBytes);
  const IndexHeader& h = e.header;
  const std::uint64_t in_body = (stamp->size - kIndexHeaderBytes) / sizeof(IndexEntry);
  if (std::memcmp(h.magic, kIndexMagic, sizeof kIndexMagic) != 0 || h.version != kIndexVersion ||
      h.header_hash != hash_of(h) || (stamp->size - kIndexHeaderBytes) % sizeof(IndexEntry) != 0 ||
      h.entries > in_body || h.points != in_body - h.entries ||
      h.body_hash != xxh3(body_of(*mapping))) {
    return std::nullopt;
  }
  e.mapping = std::move(*mapping);
  return e;
}

Status put_header(const Fd& fd, const std::string& path, IndexHeader h) {
  h.header_hash = hash_of(h);
  return write_at(fd, path, 0, reinterpret_cast<const char*>(&h), sizeof h);
}

}  // namespace

struct IndexWriter::Body {
  Hasher hash;
  std::uint64_t end = kIndexHeaderBytes;
};

IndexWriter::IndexWriter(const Fd& fd, const std::string& path)
    : fd_(fd), path_(path), body_(std::make_unique<Body>()) {}
IndexWriter::~IndexWriter() = default;

Status IndexWriter::add_bytes(std::string_view bytes) {
  body_->hash.add(bytes);
  auto ok = write_at(fd_, path_, body_->end, bytes.data(), bytes.size());
  body_->end += bytes.size();
  return ok;
}

Status IndexWriter::add(std::span<const IndexEntry> entries) {
  entries_ += entries.size();
  return add_bytes({reinterpret_cast<const char*>(entries.data()), entries.size_bytes()});
}

std::string FileIndex::path_of(const std::string& file, const std::string& state_folder,
                               const std::string& recipe) {
  return fmt::format("{}/index/{:016x}-{}.idx", state_folder, xxh3(file), recipe);
}

// Writes the index under `path`: scans the data file, whose stamp and content the header gets.
Status FileIndex::write(const StreamFile& data, const FileStamp& stamp, std::uint64_t content,
                        const IndexRecipe& recipe, const std::string& path) {
  auto fd = open_to_write(path, O_TRUNC);
  if (!fd) return tl::unexpected(fd.error());
  IndexWriter out(*fd, path);
  if (auto ok = recipe.scan(data, out); !ok) return ok;
  const std::span<const RestartPoint> points(out.points_);
  if (auto ok = out.add_bytes({reinterpret_cast<const char*>(points.data()), points.size_bytes()});
      !ok) {
    return ok;
  }
  IndexHeader h = {};
  std::memcpy(h.magic, kIndexMagic, sizeof kIndexMagic);
  h.version = kIndexVersion;
  h.size = stamp.size;
  h.changed_ns = stamp.changed_ns;
  h.content = content;
  h.variant = recipe.variant;
  h.bytes = out.bytes_;
  h.entries = out.entries_;
  h.points = points.size();
  h.body_hash = out.body_->hash.value();
  return put_header(*fd, path, h);
}

Status FileIndex::make(const StreamFile& data, const FileStamp& stamp, std::uint64_t content,
                       const IndexRecipe& recipe, const std::string& path) {
  const std::string fresh = path + ".new";
  auto ok = write(data, stamp, content, recipe, fresh);
  if (ok) ok = put_in_place(fresh, path);
  if (!ok) {
    ::unlink(fresh.c_str());
    if (ok.error().code == ExitCode::kDataRefused) return ok;  // it names the file
    return fail(ok.error().code,
                fmt::format("the index of {} could not be made: {}", data.path, ok.error().text));
  }
  return {};
}

Result<FileIndex> FileIndex::open(const std::string& file, const std::string& state_folder,
                                  const IndexRecipe& recipe, const Say& say) {
  auto opened = open_to_read(file);
  if (!opened) return tl::unexpected(opened.error());
  StreamFile data{std::make_shared<const Fd>(std::move(*opened)), file, 0};

  const std::string path = path_of(file, state_folder, recipe.name);
  if (auto ok = make_folder(state_folder + "/index"); !ok) return tl::unexpected(ok.error());
  const auto held = lock_file(path + ".lock", fmt::format("the index of {} is made", file), say);
  if (!held) return tl::unexpected(held.error());

  // Looked at under the lock: whoever waited may meet a file that has changed meanwhile.
  const auto stamp = stamp_of(*data.fd, file);
  if (!stamp) return tl::unexpected(stamp.error());
  data.size = stamp->size;
  FileIndex index;
  index.stamp_ = *stamp;
  auto existing = whole_index(path);
  const bool same_size = existing && existing->header.size == stamp->size &&
                         existing->header.variant == recipe.variant;
  const bool untouched = same_size && existing->header.changed_ns == stamp->changed_ns;
  if (!untouched) {
    const auto content = content_sample(*data.fd, file, stamp->size);
    if (!content) return tl::unexpected(content.error());
    if (same_size && existing->header.content == *content) {
      existing->header.changed_ns = stamp->changed_ns;
      if (auto ok = put_header(existing->fd, path, existing->header); !ok) {
        return tl::unexpected(ok.error());
      }
    } else {
      if (auto ok = make(data, *stamp, *content, recipe, path); !ok) {
        return tl::unexpected(ok.error());
      }
      index.made_ = true;
      existing = whole_index(path);
      if (!existing) {
        return fail(ExitCode::kDataRefused,
                    fmt::format("{} is not what was written to it: is its disk in order?", path));
      }
    }
  }
  index.content_ = existing->header.content;
  index.bytes_ = existing->header.bytes;
  index.mapping_ = std::move(existing->mapping);
  const char* body = body_of(index.mapping_).data();
  const auto entries = static_cast<std::size_t>(existing->header.entries);
  index.entries_ = {reinterpret_cast<const IndexEntry*>(body), entries};
  index.points_ = {reinterpret_cast<const RestartPoint*>(body + entries * sizeof(IndexEntry)),
                   static_cast<std::size_t>(existing->header.points)};
  return index;
}

}  // namespace packline

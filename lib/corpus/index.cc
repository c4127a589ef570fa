#include "lib/corpus/index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "lib/corpus/content_sample.h"
#include "lib/hash/xxh3.h"

namespace packline {
namespace {

static_assert(std::endian::native == std::endian::little, "the index is mapped as it stands");

constexpr char kMagic[8] = {'P', 'K', 'L', 'I', 'N', 'D', 'E', 'X'};
constexpr std::uint64_t kVersion = 1;

struct Header {
  char magic[8];
  std::uint64_t version;
  std::uint64_t size;     // of the data file
  std::int64_t mtime_ns;  // of the data file
  std::uint64_t content;  // its content sample
  std::uint64_t entries;
  std::uint64_t entries_hash;
  std::uint64_t header_hash;  // of all before
};
static_assert(sizeof(Header) == kIndexHeaderBytes);

std::uint64_t hash_of(const Header& h) {
  return xxh3(std::string_view(reinterpret_cast<const char*>(&h), offsetof(Header, header_hash)));
}
std::string_view body_of(const Mapping& m) {
  return std::string_view(m.data(), m.size()).substr(kIndexHeaderBytes);
}

Result<Fd> open_to_write(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_CREAT | flags, 0666);
  if (fd < 0) return fail(ExitCode::kWrongJob, cannot(path, "opened for writing", errno));
  return Fd(fd);
}

// Held until the descriptor closes, also by the death of its process.
Result<Fd> lock(const std::string& path) {
  auto fd = open_to_write(path, 0);
  if (!fd) return fd;
  int rc;
  do rc = ::flock(fd->get(), LOCK_EX);
  while (rc != 0 && errno == EINTR);
  if (rc != 0) return fail(ExitCode::kWrongJob, cannot(path, "locked", errno));
  return fd;
}

struct Existing {
  Fd fd;
  Mapping mapping;
  Header header;
};

// The index file at `path`, if it is whole and ours.
std::optional<Existing> whole_index(const std::string& path) {
  Existing e;
  e.fd = Fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!e.fd.open()) return std::nullopt;
  const auto stamp = stamp_of(e.fd, path);
  if (!stamp || stamp->size < kIndexHeaderBytes) return std::nullopt;
  auto mapping = Mapping::of(e.fd, path, static_cast<std::size_t>(stamp->size));
  if (!mapping) return std::nullopt;
  std::memcpy(&e.header, mapping->data(), kIndexHeaderBytes);
  const Header& h = e.header;
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0 || h.version != kVersion ||
      h.header_hash != hash_of(h) || (stamp->size - kIndexHeaderBytes) % sizeof(IndexEntry) != 0 ||
      (stamp->size - kIndexHeaderBytes) / sizeof(IndexEntry) != h.entries ||
      h.entries_hash != xxh3(body_of(*mapping))) {
    return std::nullopt;
  }
  e.mapping = std::move(*mapping);
  return e;
}

Status put_header(const Fd& fd, const std::string& path, Header h) {
  h.header_hash = hash_of(h);
  return write_at(fd, path, 0, reinterpret_cast<const char*>(&h), sizeof h);
}

// Writes the index under `path`: scans the data file, whose stamp and content the header gets.
Status write_index(const Fd& data, const std::string& file, const FileStamp& stamp,
                   std::uint64_t content, const std::string& path) {
  auto fd = open_to_write(path, O_TRUNC);
  if (!fd) return tl::unexpected(fd.error());
  const auto scanned = scan_lines(data, file, stamp.size, *fd, path, kIndexHeaderBytes);
  if (!scanned) return tl::unexpected(scanned.error());
  Header h = {};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.version = kVersion;
  h.size = stamp.size;
  h.mtime_ns = stamp.mtime_ns;
  h.content = content;
  h.entries = scanned->entries;
  h.entries_hash = scanned->hash;
  return put_header(*fd, path, h);
}

Status make_index(const Fd& data, const std::string& file, const FileStamp& stamp,
                  std::uint64_t content, const std::string& path) {
  const std::string fresh = path + ".new";
  auto ok = write_index(data, file, stamp, content, fresh);
  if (ok && std::rename(fresh.c_str(), path.c_str()) != 0) {
    ok = fail(ExitCode::kWrongJob, cannot(fresh, "renamed", errno));
  }
  if (!ok) {
    ::unlink(fresh.c_str());
    return fail(ok.error().code,
                fmt::format("the index of {} could not be made: {}", file, ok.error().text));
  }
  return {};
}

}  // namespace

std::string FileIndex::path_of(const std::string& file, const std::string& state_folder) {
  return fmt::format("{}/index/{:016x}.idx", state_folder, xxh3(file));
}

Result<FileIndex> FileIndex::open(const std::string& file, const std::string& state_folder) {
  const auto data = open_to_read(file);
  if (!data) return tl::unexpected(data.error());

  const std::string path = path_of(file, state_folder);
  std::error_code error;
  std::filesystem::create_directories(state_folder + "/index", error);
  if (error) {
    return fail(ExitCode::kWrongJob, cannot(state_folder + "/index", "made", error.value()));
  }
  const auto held = lock(path + ".lock");
  if (!held) return tl::unexpected(held.error());

  // Looked at under the lock: whoever waited may meet a file that has changed meanwhile.
  const auto stamp = stamp_of(*data, file);
  if (!stamp) return tl::unexpected(stamp.error());
  FileIndex index;
  index.stamp_ = *stamp;
  auto existing = whole_index(path);
  const bool same_size = existing && existing->header.size == stamp->size;
  const bool untouched = same_size && existing->header.mtime_ns == stamp->mtime_ns;
  if (!untouched) {
    const auto content = content_sample(*data, file, stamp->size);
    if (!content) return tl::unexpected(content.error());
    if (same_size && existing->header.content == *content) {
      existing->header.mtime_ns = stamp->mtime_ns;
      if (auto ok = put_header(existing->fd, path, existing->header); !ok) {
        return tl::unexpected(ok.error());
      }
    } else {
      if (auto ok = make_index(*data, file, *stamp, *content, path); !ok) {
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
  index.mapping_ = std::move(existing->mapping);
  const std::string_view body = body_of(index.mapping_);
  index.entries_ = {reinterpret_cast<const IndexEntry*>(body.data()),
                    body.size() / sizeof(IndexEntry)};
  return index;
}

}  // namespace packline

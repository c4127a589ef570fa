#include "lib/corpus/unpacked.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/corpus/content_sample.h"
#include "lib/corpus/file_lock.h"
#include "lib/hash/xxh3.h"

namespace packline {
namespace {

constexpr char kNoteMagic[8] = {'P', 'K', 'L', 'U', 'N', 'P', 'K', '1'};
constexpr std::size_t kUnpackBytes = std::size_t{1} << 20;
constexpr std::uint64_t kLookEvery = std::uint64_t{16} << 20;  // at the free room, bytes written

struct Note {
  char magic[8];
  std::uint64_t size;       // of the packed file
  std::int64_t changed_ns;  // of the packed file
  std::uint64_t content;    // its content sample
  std::uint64_t unpacked_size;
  std::uint64_t unpacked_content;  // the copy's content sample
  std::uint64_t hash;              // of all before
};

std::uint64_t hash_of(const Note& n) {
  return xxh3(std::string_view(reinterpret_cast<const char*>(&n), offsetof(Note, hash)));
}

std::optional<Note> read_note(const std::string& path) {
  const auto fd = open_to_read(path);
  Note note;
  if (!fd) return std::nullopt;
  const auto got = read_at(*fd, path, 0, reinterpret_cast<char*>(&note), sizeof note);
  if (!got || *got < sizeof note || std::memcmp(note.magic, kNoteMagic, sizeof kNoteMagic) != 0 ||
      note.hash != hash_of(note)) {
    return std::nullopt;
  }
  return note;
}

Status write_note(const std::string& path, Note note) {
  note.hash = hash_of(note);
  const std::string fresh = path + ".new";
  const auto fd = open_to_write(fresh, O_TRUNC);
  if (!fd) return tl::unexpected(fd.error());
  auto ok = write_at(*fd, fresh, 0, reinterpret_cast<const char*>(&note), sizeof note);
  return ok ? put_in_place(fresh, path) : ok;
}

bool is_as_left(const std::string& copy, const Note& note) {
  const auto fd = open_to_read(copy);
  if (!fd) return false;
  const auto stamp = stamp_of(*fd, copy);
  if (!stamp || stamp->size != note.unpacked_size) return false;
  const auto content = content_sample(*fd, copy, stamp->size);
  return content && *content == note.unpacked_content;
}

struct Unpacking {
  StreamFile packed;
  Compression compression;
  std::string folder;  // of the copy
  const Say& say;
  const FreeBytes& free;

  Status check_room(std::uint64_t more, std::uint64_t written) const {
    const auto room = free(folder);
    if (!room) return tl::unexpected(room.error());
    if (*room >= more + kFreeKept) return {};
    const std::string size = written == 0
                                 ? fmt::format("unpacks to {} or more", size_text(more))
                                 : fmt::format("unpacks to more than {}", size_text(written));
    return fail(ExitCode::kWrongJob,
                fmt::format("{} {}, and the disk of {} has {} free: make room there, name another "
                            "state folder, or set shuffle.kind: buffer or none, which read it "
                            "packed",
                            packed.path, size, folder, size_text(*room)));
  }

  Status announce() const {
    const auto least = unpacked_at_least(packed, compression);
    if (!least) return tl::unexpected(least.error());
    const auto room = free(folder);
    if (!room) return tl::unexpected(room.error());
    if (say) {
      say(fmt::format("unpacks {} ({} of {}) into {}, once, {}; {} are free there", packed.path,
                      size_text(packed.size), name_of(compression), folder,
                      *least > 0 ? fmt::format("to {} or more", size_text(*least))
                                 : "to a size that it does not tell",
                      size_text(*room)));
    }
    return check_room(*least, 0);
  }

  // Gives the size of the copy.
  Result<std::uint64_t> write(const std::string& path) const {
    const auto to = open_to_write(path, O_TRUNC);
    if (!to) return tl::unexpected(to.error());
    const auto stream = open_stream(packed, compression);
    std::vector<char> buffer(kUnpackBytes);
    LongWork progress(say);
    std::uint64_t at = 0, looked_at = 0;
    const auto said = [&](const char* what, std::int64_t seconds) {
      return fmt::format("{} {}: {} of {} read, {} written, {} s", what, packed.path,
                         size_text(stream->file_bytes_read()), size_text(packed.size),
                         size_text(at), seconds);
    };
    for (;;) {
      const auto got = stream->read(buffer.data(), buffer.size());
      if (!got) return tl::unexpected(got.error());
      if (auto ok = write_at(*to, path, at, buffer.data(), *got); !ok) {
        return tl::unexpected(ok.error());
      }
      at += *got;
      if (*got < buffer.size()) break;
      if (at - looked_at >= kLookEvery) {
        looked_at = at;
        if (auto ok = check_room(0, at); !ok) return tl::unexpected(ok.error());
      }
      progress.tick([&](std::int64_t s) { return said("unpacks", s); });
    }
    // A power cut must not leave a copy with holes behind a note that says it is whole.
    if (::fsync(to->get()) != 0) {
      return fail(ExitCode::kWrongJob, cannot(path, "written", errno));
    }
    progress.done([&](std::int64_t s) { return said("unpacked", s); });
    return at;
  }

  Status make(const std::string& copy, Note note) const {
    if (auto ok = announce(); !ok) return ok;
    const std::string fresh = copy + ".new";
    const auto size = write(fresh);
    if (!size) {
      ::unlink(fresh.c_str());
      return tl::unexpected(size.error());
    }
    const auto fd = open_to_read(fresh);
    if (!fd) return tl::unexpected(fd.error());
    const auto content = content_sample(*fd, fresh, *size);
    if (!content) return tl::unexpected(content.error());
    note.unpacked_size = *size;
    note.unpacked_content = *content;
    if (auto ok = put_in_place(fresh, copy); !ok) return ok;
    return write_note(copy + ".note", note);
  }
};

}  // namespace

Result<std::uint64_t> free_bytes(const std::string& folder) {
  struct statvfs disk = {};
  if (::statvfs(folder.c_str(), &disk) != 0) {
    return fail(ExitCode::kWrongJob, cannot(folder, "looked at", errno));
  }
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

Result<Unpacked> unpack(const std::string& file, Compression compression,
                        const std::string& state_folder, const Say& say, const FreeBytes& free) {
  auto opened = open_to_read(file);
  if (!opened) return tl::unexpected(opened.error());
  const std::string folder = state_folder + "/unpacked";
  if (auto ok = make_folder(folder); !ok) return tl::unexpected(ok.error());
  const std::string copy = fmt::format("{}/{:016x}", folder, xxh3(file));
  const auto held = lock_file(copy + ".lock", fmt::format("{} is unpacked", file), say);
  if (!held) return tl::unexpected(held.error());

  StreamFile packed{std::make_shared<const Fd>(std::move(*opened)), file, 0};
  const auto stamp = stamp_of(*packed.fd, file);
  if (!stamp) return tl::unexpected(stamp.error());
  packed.size = stamp->size;
  const auto note = read_note(copy + ".note");
  const bool usable = note && note->size == stamp->size && is_as_left(copy, *note);
  if (usable && note->changed_ns == stamp->changed_ns) {
    return Unpacked{copy, *stamp, note->content, false};
  }
  const auto content = content_sample(*packed.fd, file, stamp->size);
  if (!content) return tl::unexpected(content.error());
  if (usable && note->content == *content) {
    Note touched = *note;
    touched.changed_ns = stamp->changed_ns;
    if (auto ok = write_note(copy + ".note", touched); !ok) return tl::unexpected(ok.error());
    return Unpacked{copy, *stamp, *content, false};
  }
  Note fresh = {};
  std::memcpy(fresh.magic, kNoteMagic, sizeof kNoteMagic);
  fresh.size = stamp->size;
  fresh.changed_ns = stamp->changed_ns;
  fresh.content = *content;
  const Unpacking unpacking{packed, compression, folder, say, free};
  if (auto ok = unpacking.make(copy, fresh); !ok) return tl::unexpected(ok.error());
  return Unpacked{copy, *stamp, *content, true};
}

}  // namespace packline

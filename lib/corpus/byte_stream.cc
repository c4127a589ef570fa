#include "lib/corpus/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/corpus/packed_streams.h"

namespace packline {
namespace {

using namespace std::string_view_literals;

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(const StreamFile& file) : input_(file, 0) {}

  Result<std::size_t> read(char* to, std::size_t size) override { return input_.read(to, size); }
  std::uint64_t file_bytes_read() const override { return input_.at(); }
  std::size_t memory() const override { return sizeof *this; }

 private:
  PackedInput input_;
};

constexpr auto kGzipMagic = "\x1F\x8B"sv;
constexpr auto kZstdMagic = "\x28\xB5\x2F\xFD"sv;

// Frames that hold no content, which some programs begin a file with: 0x184D2A50 to 0x184D2A5F.
bool is_skippable_frame(std::string_view head) {
  return head.size() >= 4 && (static_cast<unsigned char>(head[0]) & 0xF0U) == 0x50U &&
         head.substr(1, 3) == "\x2A\x4D\x18"sv;
}

struct Unread {
  std::string_view magic, name;
};
constexpr std::array<Unread, 3> kUnread = {{{"\xFD"
                                             "7zXZ\0"sv,
                                             "xz"},
                                            {"\x04\x22\x4D\x18"sv, "lz4"},
                                            {"PK\x03\x04"sv, "zip"}}};

bool is_bzip2(std::string_view head) {
  return head.size() >= 10 && head.starts_with("BZh") && head.substr(4, 6) == "1AY&SY";
}

}  // namespace

std::string_view name_of(Compression compression) {
  return compression == Compression::kGzip   ? "gzip"
         : compression == Compression::kZstd ? "zstd"
                                             : "nothing";
}

void RestartPoints::add(RestartPoint point) {
  if (!points_.empty() && point.unpacked - points_.back().unpacked < near_) return;
  points_.push_back(point);
  if (points_.size() < 2 * kKeptMax) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); i += 2) points_[kept++] = points_[i];
  points_.resize(kept);
  near_ *= 2;
}

std::unique_ptr<ByteStream> open_stream(const StreamFile& file, Compression compression,
                                        RestartPoint from) {
  if (from.packed == 0) ::posix_fadvise(file.fd->get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // advice
  if (compression == Compression::kGzip) return open_gzip(file, from);
  if (compression == Compression::kZstd) return open_zstd(file, from);
  return std::make_unique<PlainStream>(file);
}

Result<Compression> compression_of(const Fd& fd, const std::string& path) {
  std::array<char, 16> bytes;
  const auto got = read_at(fd, path, 0, bytes.data(), bytes.size());
  if (!got) return tl::unexpected(got.error());
  return compression_by({bytes.data(), *got}, path);
}

Result<Compression> compression_by(std::string_view head, const std::string& path) {
  if (head.starts_with(kGzipMagic)) return Compression::kGzip;
  if (head.starts_with(kZstdMagic) || is_skippable_frame(head)) return Compression::kZstd;
  const auto* unread = std::find_if(kUnread.begin(), kUnread.end(),
                                    [&](const Unread& u) { return head.starts_with(u.magic); });
  if (unread != kUnread.end() || is_bzip2(head)) {
    return fail(ExitCode::kDataRefused,
                fmt::format("{} is compressed by {}, which is not read: unpack it first, or pack "
                            "it by zstd or gzip",
                            path, unread != kUnread.end() ? unread->name : "bzip2"));
  }
  const bool gz = path.ends_with(".gz");
  if (gz || path.ends_with(".zst")) {
    const std::string_view how = name_of(gz ? Compression::kGzip : Compression::kZstd);
    return fail(ExitCode::kDataRefused,
                head.empty()
                    ? fmt::format("{} is empty, and even {} of nothing has some bytes: it was cut, "
                                  "make it again",
                                  path, how)
                    : fmt::format("{} is named as packed by {} and does not begin so: it is "
                                  "damaged, or has a wrong name",
                                  path, how));
  }
  return Compression::kNone;
}

Result<std::uint64_t> unpacked_at_least(const StreamFile& file, Compression compression) {
  if (compression == Compression::kGzip) return gzip_at_least(file);
  if (compression == Compression::kZstd) return zstd_at_least(file);
  return file.size;
}

}  // namespace packline

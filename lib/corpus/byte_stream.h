#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/corpus/file.h"

namespace packline {

enum class Compression : std::uint8_t { kNone, kGzip, kZstd };
std::string_view name_of(Compression compression);  // "gzip"

// A place in a packed file where unpacking can begin: where a member of gzip or a frame of zstd
// does.
struct RestartPoint {
  std::uint64_t packed = 0;    // bytes of the file before it
  std::uint64_t unpacked = 0;  // bytes of its content before it
  bool operator==(const RestartPoint&) const = default;
};

// Restart points of one file, in order: at most 2 * kKeptMax of them, evenly thinned when there
// would be more. Between neighbours lie kNear unpacked bytes or more.
class RestartPoints {
 public:
  static constexpr std::size_t kKeptMax = 32768;
  static constexpr std::uint64_t kNear = std::uint64_t{1} << 20;

  void add(RestartPoint point);
  const std::vector<RestartPoint>& all() const { return points_; }

 private:
  std::vector<RestartPoint> points_;
  std::uint64_t near_ = kNear;
};

// The content of a file, from front to back; what is packed is unpacked on the way. Its memory does
// not grow with the file. One thread at a time.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // The next bytes, `size` of them, or fewer where the content ends. Errors (kDataRefused): a file
  // that shrank, that is damaged or ends too early.
  virtual Result<std::size_t> read(char* to, std::size_t size) = 0;
  // How much of the file itself was read, for saying how far this is.
  virtual std::uint64_t file_bytes_read() const = 0;
  virtual std::size_t memory() const = 0;  // bytes
  // Of what was read so far.
  const RestartPoints& restart_points() const { return points_; }

 protected:
  RestartPoints points_;
};

// The file behind a stream, open.
struct StreamFile {
  std::shared_ptr<const Fd> fd;
  std::string path;
  std::uint64_t size = 0;
};

// The content from `from` on, which is the beginning or one of the restart points.
std::unique_ptr<ByteStream> open_stream(const StreamFile& file, Compression compression,
                                        RestartPoint from = {});

// How content that begins with `head` (16 bytes, or all of it) is packed. Errors (kDataRefused):
// its name says gzip or zstd and its bytes do not, or it is packed by something that is not read
// here.
Result<Compression> compression_by(std::string_view head, const std::string& path);

// How a file is packed, by its first bytes and its name. Errors (kDataRefused): its name says gzip
// or zstd and its bytes do not, or it is packed by something that is not read here.
Result<Compression> compression_of(const Fd& fd, const std::string& path);

// The least number of bytes that its content has, as far as the file itself says; else 0.
Result<std::uint64_t> unpacked_at_least(const StreamFile& file, Compression compression);

}  // namespace packline

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "lib/base/check.h"
#include "lib/corpus/packed_streams.h"

// The only user of zlib.

namespace packline {
namespace {

// Members of gzip, one behind the other (RFC 1952), perhaps with zeros behind the last, as tapes
// leave them.
class GzipStream final : public ByteStream {
 public:
  GzipStream(const StreamFile& file, RestartPoint from)
      : input_(file, from.packed), unpacked_(from.unpacked) {
    constexpr int kGzipOnly = 16;
    PL_CHECK_EQ(inflateInit2(&z_, MAX_WBITS + kGzipOnly), Z_OK);
  }
  ~GzipStream() override { inflateEnd(&z_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  Result<std::size_t> read(char* to, std::size_t size) override {
    std::size_t out = 0;
    while (out < size) {
      if (auto ok = refill(); !ok) return tl::unexpected(ok.error());
      if (!in_member_) {
        const auto another = next_member();
        if (!another) return tl::unexpected(another.error());
        if (!*another) break;
      }
      auto got = inflate_some(to + out, size - out);
      if (!got) return got;
      if (*got == 0 && in_member_ && at_end_) return cut_off(input_.file(), Compression::kGzip);
      out += *got;
    }
    return out;
  }

  std::uint64_t file_bytes_read() const override { return input_.at() - z_.avail_in; }
  // What inflate() may hold for itself is 40 KiB and some; the rest is the input's buffer.
  std::size_t memory() const override { return std::size_t{192} << 10; }

 private:
  // Where nothing is left to be unpacked, reads on.
  Status refill() {
    if (z_.avail_in > 0 || at_end_) return {};
    const auto next = input_.next();
    if (!next) return tl::unexpected(next.error());
    // zlib never writes through it.
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(next->data()));
    z_.avail_in = static_cast<uInt>(next->size());
    at_end_ = next->empty();
    return {};
  }

  // Begins a member; false where the file ends.
  Result<bool> next_member() {
    for (;;) {
      while (members_ > 0 && z_.avail_in > 0 && *z_.next_in == 0) {
        ++z_.next_in;
        --z_.avail_in;
      }
      if (z_.avail_in > 0) break;
      if (at_end_) return false;
      if (auto ok = refill(); !ok) return tl::unexpected(ok.error());
    }
    inflateReset(&z_);
    in_member_ = true;
    member_at_ = file_bytes_read();
    ++members_;
    points_.add({member_at_, unpacked_});
    return true;
  }

  Result<std::size_t> inflate_some(char* to, std::size_t size) {
    const auto room =
        static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
    z_.next_out = reinterpret_cast<Bytef*>(to);
    z_.avail_out = room;
    const int rc = inflate(&z_, Z_NO_FLUSH);
    const std::size_t got = room - z_.avail_out;
    unpacked_ += got;
    if (rc == Z_STREAM_END) {
      in_member_ = false;
    } else if (rc != Z_OK && rc != Z_BUF_ERROR) {  // the latter: more input is needed
      if (members_ > 1 && file_bytes_read() - member_at_ <= 2) {
        return fail(ExitCode::kDataRefused,
                    fmt::format("{} has something behind its gzip data, at byte {}: it is damaged, "
                                "or two files in one",
                                input_.file().path, member_at_));
      }
      return damaged(input_.file(), Compression::kGzip, file_bytes_read(),
                     z_.msg != nullptr ? z_.msg : "no reason given");
    }
    return got;
  }

  PackedInput input_;
  z_stream z_ = {};
  bool in_member_ = false;
  bool at_end_ = false;  // nothing is left to be read
  std::uint64_t members_ = 0, member_at_ = 0;
  std::uint64_t unpacked_;  // from the content's beginning on
};

}  // namespace

std::unique_ptr<ByteStream> open_gzip(const StreamFile& file, RestartPoint from) {
  return std::make_unique<GzipStream>(file, from);
}

// The last four bytes are the size of the last member's content, modulo 2^32.
Result<std::uint64_t> gzip_at_least(const StreamFile& file) {
  if (file.size < 18) return 0;
  std::array<unsigned char, 4> b;
  const auto got = read_at(*file.fd, file.path, file.size - b.size(),
                           reinterpret_cast<char*>(b.data()), b.size());
  if (!got) return tl::unexpected(got.error());
  if (*got < b.size()) return 0;
  return b[0] | std::uint64_t{b[1]} << 8 | std::uint64_t{b[2]} << 16 | std::uint64_t{b[3]} << 24;
}

}  // namespace packline

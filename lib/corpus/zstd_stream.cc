#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <array>

#include "lib/base/check.h"
#include "lib/corpus/packed_streams.h"

// The only user of libzstd.

namespace packline {
namespace {

// Frames of zstd, one behind the other (RFC 8878).
class ZstdStream final : public ByteStream {
 public:
  ZstdStream(const StreamFile& file, RestartPoint from)
      : input_(file, from.packed), context_(ZSTD_createDCtx()), unpacked_(from.unpacked) {
    PL_CHECK(context_ != nullptr);
  }
  ~ZstdStream() override { ZSTD_freeDCtx(context_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  Result<std::size_t> read(char* to, std::size_t size) override {
    ZSTD_outBuffer out = {to, size, 0};
    while (out.pos < out.size) {
      if (in_.pos == in_.size && !at_end_) {
        const auto next = input_.next();
        if (!next) return tl::unexpected(next.error());
        in_ = {next->data(), next->size(), 0};
        at_end_ = next->empty();
      }
      if (!in_frame_) {
        if (at_end_) break;
        points_.add({file_bytes_read(), unpacked_ + out.pos});
        in_frame_ = true;
      }
      const std::size_t before = out.pos;
      const std::size_t rc = ZSTD_decompressStream(context_, &out, &in_);
      if (ZSTD_isError(rc) != 0) return refused(rc);
      in_frame_ = rc != 0;
      if (in_frame_ && at_end_ && out.pos == before) {
        return cut_off(input_.file(), Compression::kZstd);
      }
    }
    unpacked_ += out.pos;
    return out.pos;
  }

  std::uint64_t file_bytes_read() const override { return input_.at() - (in_.size - in_.pos); }
  std::size_t memory() const override {
    return ZSTD_sizeof_DCtx(context_) + (std::size_t{128} << 10);
  }

 private:
  tl::unexpected<Error> refused(std::size_t rc) const {
    const StreamFile& file = input_.file();
    if (ZSTD_getErrorCode(rc) == ZSTD_error_frameParameter_windowTooLarge) {
      return fail(ExitCode::kDataRefused,
                  fmt::format("{} was packed by zstd with a window of more than 128 MiB, which "
                              "takes as much memory to read: pack it again without --long and "
                              "--ultra",
                              file.path));
    }
    return damaged(file, Compression::kZstd, file_bytes_read(), ZSTD_getErrorName(rc));
  }

  PackedInput input_;
  ZSTD_DCtx* context_;
  ZSTD_inBuffer in_ = {nullptr, 0, 0};
  bool in_frame_ = false;
  bool at_end_ = false;     // nothing is left to be read
  std::uint64_t unpacked_;  // from the content's beginning on, before this read()
};

}  // namespace

std::unique_ptr<ByteStream> open_zstd(const StreamFile& file, RestartPoint from) {
  return std::make_unique<ZstdStream>(file, from);
}

// What the first frame says, which is all of it as a rule.
Result<std::uint64_t> zstd_at_least(const StreamFile& file) {
  std::array<char, 18> head;  // the longest header
  const auto got = read_at(*file.fd, file.path, 0, head.data(), head.size());
  if (!got) return tl::unexpected(got.error());
  const unsigned long long size = ZSTD_getFrameContentSize(head.data(), *got);
  return size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ? 0 : size;
}

}  // namespace packline

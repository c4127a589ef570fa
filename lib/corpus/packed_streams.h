#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lib/corpus/byte_stream.h"

// What the streams of byte_stream.h share. Internal to lib/corpus.

namespace packline {

// The bytes of a file, as they are, from one place on.
class PackedInput {
 public:
  PackedInput(StreamFile file, std::uint64_t from) : file_(std::move(file)), at_(from) {}

  Result<std::size_t> read(char* to, std::size_t size);
  // The next bytes in a buffer of its own; empty where the file ends.
  Result<std::string_view> next();

  const StreamFile& file() const { return file_; }
  std::uint64_t at() const { return at_; }  // of what was read, buffered or not

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{128} << 10;
  StreamFile file_;
  std::uint64_t at_;
  std::vector<char> buffer_;
};

std::unique_ptr<ByteStream> open_gzip(const StreamFile& file, RestartPoint from);
std::unique_ptr<ByteStream> open_zstd(const StreamFile& file, RestartPoint from);
Result<std::uint64_t> gzip_at_least(const StreamFile& file);
Result<std::uint64_t> zstd_at_least(const StreamFile& file);

// The sentences of both.
tl::unexpected<Error> cut_off(const StreamFile& file, Compression compression);
tl::unexpected<Error> damaged(const StreamFile& file, Compression compression, std::uint64_t at,
                              std::string_view why);

}  // namespace packline

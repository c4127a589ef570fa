#include "lib/corpus/packed_streams.h"

#include <fmt/format.h>

#include <algorithm>

namespace packline {

Result<std::size_t> PackedInput::read(char* to, std::size_t size) {
  const auto want = static_cast<std::size_t>(
      std::min<std::uint64_t>(size, file_.size - std::min(at_, file_.size)));
  auto got = read_at(*file_.fd, file_.path, at_, to, want);
  if (!got) return got;
  if (*got < want) {
    return fail(ExitCode::kDataRefused,
                fmt::format("{} shrank from {} to {} bytes while it was read: start again when it "
                            "is whole",
                            file_.path, file_.size, at_ + *got));
  }
  at_ += want;
  return want;
}

Result<std::string_view> PackedInput::next() {
  buffer_.resize(kBufferBytes);
  const auto got = read(buffer_.data(), buffer_.size());
  if (!got) return tl::unexpected(got.error());
  return std::string_view(buffer_.data(), *got);
}

tl::unexpected<Error> cut_off(const StreamFile& file, Compression compression) {
  return fail(ExitCode::kDataRefused,
              fmt::format("{} ends at byte {} in the middle of its {} data: it was cut, copy it "
                          "again",
                          file.path, file.size, name_of(compression)));
}

tl::unexpected<Error> damaged(const StreamFile& file, Compression compression, std::uint64_t at,
                              std::string_view why) {
  return fail(ExitCode::kDataRefused,
              fmt::format("{} is damaged: its {} data cannot be unpacked near byte {} ({}): copy "
                          "it again",
                          file.path, name_of(compression), at, why));
}

}  // namespace packline

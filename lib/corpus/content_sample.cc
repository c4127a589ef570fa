#include "lib/corpus/content_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "lib/hash/xxh3.h"

namespace packline {

Result<std::uint64_t> content_sample(const Fd& fd, const std::string& file, std::uint64_t size) {
  constexpr std::uint64_t kEnds = 64 << 10;
  constexpr std::uint64_t kPiece = 4 << 10;
  constexpr std::uint64_t kPieces = 16;

  std::vector<char> buffer(kEnds);
  Hasher hash;
  hash.add(size);
  auto add = [&](std::uint64_t from, std::uint64_t n) -> Status {
    const auto got = read_at(fd, file, from, buffer.data(), static_cast<std::size_t>(n));
    if (!got) return tl::unexpected(got.error());
    if (*got < n) {
      return fail(ExitCode::kDataRefused,
                  fmt::format("{} shrank while it was read: start again when it is whole", file));
    }
    hash.add(std::string_view(buffer.data(), *got));
    return {};
  };

  const std::uint64_t head = std::min(kEnds, size);
  const std::uint64_t tail = std::min(kEnds, size - head);
  if (auto ok = add(0, head); !ok) return tl::unexpected(ok.error());
  const std::uint64_t between = size - head - tail;
  for (std::uint64_t k = 0; k < kPieces && between > 0; ++k) {
    const std::uint64_t from = head + between / kPieces * k;
    if (auto ok = add(from, std::min(kPiece, size - from)); !ok) return tl::unexpected(ok.error());
  }
  if (auto ok = add(size - tail, tail); !ok) return tl::unexpected(ok.error());
  return hash.value();
}

}  // namespace packline

#include "lib/corpus/forward_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/base/check.h"

namespace packline {
namespace {

// Of what is unpacked only to be passed over, so many pieces are kept: what stands shortly before a
// record is soon asked for, by another lane or of the same block.
constexpr std::uint64_t kPassedKept = 16;

}  // namespace

std::size_t ForwardReader::add(const std::string& path, const FileStamp& stamp,
                               Compression compression, std::span<const RestartPoint> points,
                               std::uint64_t bytes) {
  files_.push_back({compression, points, bytes});
  return open_files_.add(path, stamp);
}

std::uint64_t ForwardReader::unpacked_bytes() const {
  const std::lock_guard guard(mutex_);
  return unpacked_;
}

Result<std::size_t> ForwardReader::read(std::size_t file, std::uint64_t offset, char* to,
                                        std::size_t size) const {
  const std::lock_guard guard(mutex_);
  std::size_t done = 0;
  while (done < size && offset + done < files_[file].bytes) {
    const std::uint64_t at = offset + done;
    const auto p = piece(file, at / limits_.piece_bytes);
    if (!p) return tl::unexpected(p.error());
    const auto from = static_cast<std::size_t>(at % limits_.piece_bytes);
    const std::vector<char>& bytes = (*p)->bytes;
    if (from >= bytes.size()) break;
    const std::size_t n = std::min(size - done, bytes.size() - from);
    std::memcpy(to + done, bytes.data() + from, n);
    done += n;
  }
  return done;
}

Result<const ForwardReader::Piece*> ForwardReader::piece(std::size_t file,
                                                         std::uint64_t number) const {
  if (const auto found = by_key_.find({file, number}); found != by_key_.end()) {
    pieces_.splice(pieces_.begin(), pieces_, found->second);
    return &*found->second;
  }
  const std::uint64_t wanted = number * limits_.piece_bytes;
  const auto cursor = cursor_for(file, wanted);
  if (!cursor) return tl::unexpected(cursor.error());
  Cursor& c = **cursor;
  c.last_used = ++uses_;
  LongWork progress(say_);
  for (;;) {
    const std::uint64_t here = c.at / limits_.piece_bytes;
    PL_CHECK(here <= number);
    if (number - here > kPassedKept) {
      progress.tick([&](std::int64_t s) {
        return fmt::format("unpacks {} to go on in its middle: {} of {}, {} s",
                           open_files_.path(file), size_text(c.at), size_text(wanted), s);
      });
      if (auto ok = advance(c, limits_.piece_bytes); !ok) return tl::unexpected(ok.error());
      continue;
    }
    Piece p{{file, here}, std::vector<char>(limits_.piece_bytes)};
    const auto got = c.stream->read(p.bytes.data(), p.bytes.size());
    if (!got) {
      cursors_.remove_if([&](const Cursor& other) { return &other == &c; });
      return tl::unexpected(got.error());
    }
    p.bytes.resize(*got);
    c.at += limits_.piece_bytes;
    unpacked_ += *got;
    const Piece& kept = keep(std::move(p));
    if (here == number) {
      drop_cursors();
      return &kept;
    }
  }
}

// A cursor that stands at `at`, a multiple of a piece's size, or before it.
Result<ForwardReader::Cursor*> ForwardReader::cursor_for(std::size_t file, std::uint64_t at) const {
  Cursor* nearest = nullptr;
  for (Cursor& c : cursors_) {
    if (c.file == file && c.at <= at && (nearest == nullptr || c.at > nearest->at)) nearest = &c;
  }
  const std::span<const RestartPoint> points = files_[file].points;
  const auto behind = std::upper_bound(
      points.begin(), points.end(), at,
      [](std::uint64_t place, const RestartPoint& p) { return place < p.unpacked; });
  const RestartPoint from = behind == points.begin() ? RestartPoint{} : *std::prev(behind);
  if (nearest != nullptr && nearest->at >= from.unpacked) return nearest;

  auto opened = open_files_.open(file);
  if (!opened) return tl::unexpected(opened.error());
  auto stream = open_stream(*opened, files_[file].compression, from);
  const std::uint64_t piece = limits_.piece_bytes;
  const std::uint64_t begin = (from.unpacked + piece - 1) / piece * piece;
  cursors_.push_back({file, from.unpacked, std::move(stream), ++uses_});
  Cursor& c = cursors_.back();
  if (auto ok = advance(c, begin - from.unpacked); !ok) return tl::unexpected(ok.error());
  return &c;
}

// Passes over bytes of the content. After an error the cursor is gone.
Status ForwardReader::advance(Cursor& cursor, std::uint64_t bytes) const {
  skipped_.resize(limits_.piece_bytes);
  const auto got = cursor.stream->read(skipped_.data(), static_cast<std::size_t>(bytes));
  if (!got) {
    cursors_.remove_if([&](const Cursor& other) { return &other == &cursor; });
    return tl::unexpected(got.error());
  }
  cursor.at += bytes;
  unpacked_ += *got;
  return {};
}

// Lets go of those that were used longest ago. A stream's memory is known once it has begun.
void ForwardReader::drop_cursors() const {
  auto too_many = [&] {
    std::size_t bytes = 0;
    for (const Cursor& c : cursors_) bytes += c.stream->memory();
    return cursors_.size() > 1 &&
           (cursors_.size() > limits_.cursors || bytes > limits_.cursor_bytes);
  };
  while (too_many()) {
    cursors_.erase(std::min_element(
        cursors_.begin(), cursors_.end(),
        [](const Cursor& a, const Cursor& b) { return a.last_used < b.last_used; }));
  }
}

const ForwardReader::Piece& ForwardReader::keep(Piece piece) const {
  // A piece that a cursor passes again replaces itself.
  if (const auto old = by_key_.find(piece.key); old != by_key_.end()) {
    pieces_.erase(old->second);
    by_key_.erase(old);
  }
  pieces_.push_front(std::move(piece));
  by_key_[pieces_.front().key] = pieces_.begin();
  const std::size_t most = std::max<std::size_t>(2, limits_.cache_bytes / limits_.piece_bytes);
  while (pieces_.size() > most) {
    by_key_.erase(pieces_.back().key);
    pieces_.pop_back();
  }
  return pieces_.front();
}

}  // namespace packline

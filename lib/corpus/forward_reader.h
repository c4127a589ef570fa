#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/corpus/byte_stream.h"
#include "lib/corpus/open_files.h"
#include "lib/corpus/say.h"

namespace packline {

// The contents of packed files, for reads that go forwards on the whole: lanes, each a little ahead
// of the next, and blocks that are read in any order within.
//
// It keeps what was unpacked last, and several **cursors**: streams that stand somewhere in a file,
// so that each lane finds one a little before what it reads. A read takes what it can from what is
// kept, else goes on from the nearest place before it: a cursor, or a restart point of the file.
// Memory: limits.cache_bytes and limits.cursor_bytes, whatever the size of the files; a cursor that
// alone is larger is kept alone.
class ForwardReader final : public FileContents {
 public:
  struct Limits {
    std::size_t piece_bytes = std::size_t{256} << 10;  // what is unpacked, kept and let go at once
    std::size_t cache_bytes = std::size_t{256} << 20;
    std::size_t cursor_bytes = std::size_t{128} << 20;
    std::size_t cursors = 16;
  };

  explicit ForwardReader(Say say) : ForwardReader(std::move(say), Limits()) {}
  ForwardReader(Say say, Limits limits) : say_(std::move(say)), limits_(limits) {}

  // `points`, which must outlive it, are the file's restart points, the beginning among them unless
  // it is empty; `bytes` is its content's size. Gives the file's number.
  std::size_t add(const std::string& path, const FileStamp& stamp, Compression compression,
                  std::span<const RestartPoint> points, std::uint64_t bytes);
  Result<std::size_t> read(std::size_t file, std::uint64_t offset, char* to,
                           std::size_t size) const override;

  // Bytes unpacked so far, all reads together: what tests hold a way of reading to.
  std::uint64_t unpacked_bytes() const;

 private:
  struct File {
    Compression compression;
    std::span<const RestartPoint> points;
    std::uint64_t bytes;
  };
  using PieceKey = std::pair<std::size_t, std::uint64_t>;  // file, number of the piece
  struct Piece {
    PieceKey key;
    std::vector<char> bytes;
  };
  struct Cursor {
    std::size_t file;
    std::uint64_t at;  // a multiple of piece_bytes: what the stream gives next
    std::unique_ptr<ByteStream> stream;
    std::uint64_t last_used;
  };

  Result<const Piece*> piece(std::size_t file, std::uint64_t number) const;
  Result<Cursor*> cursor_for(std::size_t file, std::uint64_t at) const;
  Status advance(Cursor& cursor, std::uint64_t bytes) const;
  void drop_cursors() const;
  const Piece& keep(Piece piece) const;

  const Say say_;
  const Limits limits_;
  OpenFiles open_files_;
  std::vector<File> files_;
  mutable std::mutex mutex_;         // guards all that follows
  mutable std::list<Piece> pieces_;  // the one used last in front
  mutable std::map<PieceKey, std::list<Piece>::iterator> by_key_;
  mutable std::list<Cursor> cursors_;
  mutable std::uint64_t uses_ = 0, unpacked_ = 0;
  mutable std::vector<char> skipped_;
};

}  // namespace packline

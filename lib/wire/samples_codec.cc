#include <bit>
#include <cstring>
#include <exception>

#include "lib/wire/codec.h"
#include "lib/wire/header_reader.h"
#include "lib/wire/header_writer.h"

namespace packline {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are little-endian arrays");

constexpr std::size_t kDimensions = 8;

tl::unexpected<Error> refused_samples(std::string text) {
  return fail(ExitCode::kUnreachable, "samples: " + std::move(text));
}

bool has_rows(ColumnKind k) { return k != ColumnKind::kPerToken; }

std::vector<std::uint32_t> u32s(const Buffer& b, std::size_t n) {
  std::vector<std::uint32_t> v(n);
  if (n > 0) std::memcpy(v.data(), b.data(), n * sizeof(std::uint32_t));
  return v;
}

std::uint64_t sum(const std::vector<std::uint32_t>& v) {
  std::uint64_t s = 0;
  for (const std::uint32_t x : v) s += x;
  return s;
}

Buffer encode_ids(const std::vector<std::string>& ids) {
  std::size_t bytes = ids.size() * sizeof(std::uint32_t);
  for (const std::string& id : ids) bytes += id.size();
  std::vector<std::byte> out(bytes);
  std::byte* size_at = out.data();
  std::byte* text_at = out.data() + ids.size() * sizeof(std::uint32_t);
  for (const std::string& id : ids) {
    const auto size = static_cast<std::uint32_t>(id.size());
    std::memcpy(size_at, &size, sizeof size);
    size_at += sizeof size;
    if (size > 0) std::memcpy(text_at, id.data(), size);
    text_at += size;
  }
  return Buffer::of(std::move(out));
}

Status decode_ids(const Buffer& frame, std::size_t n, const Limits& limits,
                  std::vector<std::string>& ids) {
  const std::size_t table = n * sizeof(std::uint32_t);
  if (frame.size() < table) {
    return refused_samples(
        fmt::format("the ids of {} samples cannot lie in a frame of {} bytes", n, frame.size()));
  }
  const std::vector<std::uint32_t> sizes = u32s(frame, n);
  for (std::size_t i = 0; i < n; ++i) {
    if (sizes[i] > limits.text_bytes) {
      return refused_samples(fmt::format("the id of sample {} has {} bytes, more than {}", i,
                                         sizes[i], limits.text_bytes));
    }
  }
  if (sum(sizes) != frame.size() - table) {
    return refused_samples(fmt::format("the ids have {} bytes, but {} are announced",
                                       frame.size() - table, sum(sizes)));
  }
  ids.reserve(n);
  const char* at = reinterpret_cast<const char*>(frame.data()) + table;
  for (const std::uint32_t size : sizes) {
    ids.emplace_back(at, size);
    at += size;
  }
  return {};
}

Result<Column> decode_column(const wire::ColumnHeader& header, const Limits& limits) {
  Column column;
  column.name = header.name;
  const auto dtype = dtype_from(header.dtype);
  if (!dtype)
    return refused_samples(fmt::format("column \"{}\": {}", header.name, dtype.error().text));
  const auto kind = kind_from(header.kind);
  if (!kind)
    return refused_samples(fmt::format("column \"{}\": {}", header.name, kind.error().text));
  column.dtype = *dtype;
  column.kind = *kind;
  if (header.item_shape.size() > kDimensions) {
    return refused_samples(fmt::format("column \"{}\": an item of {} dimensions, more than {}",
                                       header.name, header.item_shape.size(), kDimensions));
  }
  std::uint64_t bytes = size_of(*dtype);
  for (const std::uint32_t dimension : header.item_shape) {
    if (dimension == 0 || bytes > limits.message_bytes / dimension) {
      return refused_samples(fmt::format(
          "column \"{}\": an item with a dimension of {} is none that a message can hold",
          header.name, dimension));
    }
    bytes *= dimension;
  }
  column.item_shape = header.item_shape;
  return column;
}

// Gives a column its frames; they must be there and have exactly the sizes that are promised.
Status take_frames(Column& column, const Samples& s, const Frames& frames, std::size_t& next) {
  column.data = frames[next++];
  std::uint64_t items = 0;
  if (has_rows(column.kind)) {
    const Buffer& rows = frames[next++];
    if (rows.size() != s.size() * sizeof(std::uint32_t)) {
      return refused_samples(
          fmt::format("column \"{}\": the rows of {} samples are not a frame of {} bytes",
                      column.name, s.size(), rows.size()));
    }
    column.rows = u32s(rows, s.size());
    items = sum(column.rows);
  } else {
    items = s.tokens();
  }
  const std::uint64_t bytes = column.item_bytes();
  if (column.data.size() % bytes != 0 || column.data.size() / bytes != items) {
    return refused_samples(
        fmt::format("column \"{}\": {} items of {} bytes are not a frame of {} bytes", column.name,
                    items, bytes, column.data.size()));
  }
  return {};
}

Result<wire::SamplesHeader> decode_header(const Frames& frames, const Limits& limits) {
  if (frames.size() < 3)
    return refused_samples(
        fmt::format("{} frames arrived, at least 3 make samples", frames.size()));
  if (frames.size() > limits.frames) {
    return refused_samples(
        fmt::format("{} frames arrived, more than {}", frames.size(), limits.frames));
  }
  const auto read = wire::Header::read("samples", frames[0], limits);
  if (!read) return tl::unexpected(read.error());
  wire::SamplesHeader header;
  wire::Reading reading{"samples", limits, frames, 1, {}};
  wire::HeaderReader in(reading, read->map());
  fields(in, header);
  if (!reading.ok()) return fail(ExitCode::kUnreachable, reading.error);
  if (header.n > limits.samples) {
    return refused_samples(
        fmt::format("{} of them arrived at once, more than {}", header.n, limits.samples));
  }
  if (header.columns.size() > limits.columns) {
    return refused_samples(
        fmt::format("{} columns arrived, more than {}", header.columns.size(), limits.columns));
  }
  return header;
}

Result<Samples> samples_checked(const Frames& frames, const Limits& limits) {
  const auto header = decode_header(frames, limits);
  if (!header) return tl::unexpected(header.error());
  Samples s;
  std::size_t expected = 3;
  for (const wire::ColumnHeader& h : header->columns) {
    auto column = decode_column(h, limits);
    if (!column) return tl::unexpected(column.error());
    expected += has_rows(column->kind) ? 2 : 1;
    s.columns.push_back(std::move(*column));
  }
  if (frames.size() != expected) {
    return refused_samples(
        fmt::format("{} frames arrived, but the header speaks of {}", frames.size(), expected));
  }
  const std::size_t n = header->n;
  if (frames[1].size() != n * sizeof(std::uint32_t)) {
    return refused_samples(
        fmt::format("the lengths of {} samples are not a frame of {} bytes", n, frames[1].size()));
  }
  s.lengths = u32s(frames[1], n);
  if (auto ids = decode_ids(frames[2], n, limits, s.ids); !ids) return tl::unexpected(ids.error());
  std::size_t next = 3;
  for (Column& column : s.columns) {
    if (auto taken = take_frames(column, s, frames, next); !taken)
      return tl::unexpected(taken.error());
  }
  if (auto whole = check_samples(s); !whole) return refused_samples(whole.error().text);
  return s;
}

}  // namespace

Frames encode_samples(const Samples& s) {
  wire::SamplesHeader header;
  header.n = static_cast<std::uint32_t>(s.size());
  for (const Column& c : s.columns) {
    header.columns.push_back(
        {c.name, std::string(name_of(c.dtype)), std::string(name_of(c.kind)), c.item_shape});
  }
  wire::HeaderWriter out(wire::field_count(header));
  fields(out, header);
  Frames frames = out.take();
  frames.push_back(Buffer::of(s.lengths));
  frames.push_back(encode_ids(s.ids));
  for (const Column& c : s.columns) {
    frames.push_back(c.data);
    if (has_rows(c.kind)) frames.push_back(Buffer::of(c.rows));
  }
  return frames;
}

Result<Samples> decode_samples(const Frames& frames, const Limits& limits) {
  try {
    return samples_checked(frames, limits);
  } catch (const std::exception& e) {  // memory
    return refused_samples(fmt::format("they cannot be read: {}", e.what()));
  }
}

}  // namespace packline

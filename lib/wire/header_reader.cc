#include "lib/wire/header_reader.h"

#include <algorithm>
#include <exception>

namespace packline::wire {
namespace {

constexpr std::size_t kDepth = 8;

// Walks over a header without keeping anything, and stops at the first promise that is too large.
struct Inspector : msgpack::null_visitor {
  const Limits& limits;
  std::size_t bytes;         // of the frame: each value takes one at least
  std::size_t promised = 0;  // values, by the lists and maps met so far
  std::size_t depth = 0;
  std::string wrong;

  Inspector(const Limits& l, std::size_t n) : limits(l), bytes(n) {}

  bool refuse(std::string what) {
    if (wrong.empty()) wrong = std::move(what);
    return false;
  }
  bool enter(std::size_t values) {
    promised += values;
    if (++depth > kDepth) return refuse(fmt::format("is nested more than {} deep", kDepth));
    if (promised > bytes || promised > limits.header_values) {
      return refuse(fmt::format("promises {} values in {} bytes", promised, bytes));
    }
    return true;
  }
  bool leave() {
    --depth;
    return true;
  }
  bool start_array(std::uint32_t n) { return enter(n); }
  bool start_map(std::uint32_t n) { return enter(std::size_t{n} * 2); }
  bool end_array() { return leave(); }
  bool end_map() { return leave(); }
  bool visit_str(const char*, std::uint32_t n) {
    const std::size_t max = std::max(limits.text_bytes, limits.position_bytes);
    return n <= max || refuse(fmt::format("has a text of {} bytes, more than {}", n, max));
  }
  bool visit_bin(const char*, std::uint32_t) {
    return refuse("has a bin value, which does not occur");
  }
  bool visit_ext(const char*, std::uint32_t) {
    return refuse("has an ext value, which does not occur");
  }
  bool visit_float32(float) { return refuse("has a float, which does not occur"); }
  bool visit_float64(double) { return refuse("has a float, which does not occur"); }
  void parse_error(std::size_t, std::size_t) { refuse("is not msgpack"); }
  void insufficient_bytes(std::size_t, std::size_t) { refuse("is cut off"); }
};

tl::unexpected<Error> bad_header(std::string_view kind, std::string_view what) {
  return fail(ExitCode::kUnreachable, fmt::format("{}: the header {}", kind, what));
}

}  // namespace

Result<Header> Header::read(std::string_view kind, const Buffer& frame, const Limits& limits) {
  if (frame.size() > limits.header_bytes) {
    return bad_header(kind,
                      fmt::format("has {} bytes, more than {}", frame.size(), limits.header_bytes));
  }
  const char* data = reinterpret_cast<const char*>(frame.data());
  const std::size_t size = frame.size();
  if (size == 0) return bad_header(kind, "is empty");
  try {
    Inspector inspector(limits, size);
    std::size_t end = 0;
    const bool whole = msgpack::parse(data, size, end, inspector);
    if (!inspector.wrong.empty()) return bad_header(kind, inspector.wrong);
    if (!whole) return bad_header(kind, "is cut off");
    if (end != size)
      return bad_header(kind, fmt::format("ends {} bytes before its frame", size - end));

    const std::size_t text = std::max(limits.text_bytes, limits.position_bytes);
    const msgpack::unpack_limit bounds(limits.header_values, limits.header_values, text, 0, 0,
                                       kDepth);
    bool referenced = false;
    end = 0;
    const auto in_place = [](msgpack::type::object_type, std::size_t, void*) { return true; };
    Header header(msgpack::unpack(data, size, end, referenced, in_place, nullptr, bounds));
    if (header.map().type != msgpack::type::MAP) return bad_header(kind, "is not a map");
    return header;
  } catch (const std::exception& e) {
    return bad_header(kind, fmt::format("cannot be read: {}", e.what()));
  }
}

const msgpack::object* find_key(const msgpack::object& map, std::string_view key, bool& twice) {
  const msgpack::object* found = nullptr;
  twice = false;
  for (std::uint32_t i = 0; i < map.via.map.size; ++i) {
    const msgpack::object_kv& kv = map.via.map.ptr[i];
    if (kv.key.type != msgpack::type::STR) continue;
    if (std::string_view(kv.key.via.str.ptr, kv.key.via.str.size) != key) continue;
    if (found != nullptr) {
      twice = true;
      return nullptr;
    }
    found = &kv.val;
  }
  return found;
}

void HeaderReader::wrong(const Where& where, std::string_view what) {
  if (!reading_.ok()) return;
  std::string path;
  for (const Where* w = &where; w != nullptr; w = w->up) {
    std::string step = w->key;
    if (w->index != kNoIndex) step += fmt::format("[{}]", w->index);
    path = path.empty() ? step : step + "." + path;
  }
  reading_.error = fmt::format("{}: key \"{}\" {}", reading_.kind, path, what);
}

bool HeaderReader::list_of(const msgpack::object& o, const Where& where, std::size_t max) {
  if (o.type != msgpack::type::ARRAY) {
    wrong(where, "must be a list");
    return false;
  }
  if (o.via.array.size > max) {
    wrong(where, fmt::format("has {} entries, more than {}", o.via.array.size, max));
    return false;
  }
  return true;
}

void HeaderReader::read(const msgpack::object& o, bool& v, const Where& where, Bound) {
  if (o.type != msgpack::type::BOOLEAN) return wrong(where, "must be true or false");
  v = o.via.boolean;
}

void HeaderReader::read(const msgpack::object& o, std::uint32_t& v, const Where& where, Bound) {
  constexpr auto kMax = std::numeric_limits<std::uint32_t>::max();
  if (o.type != msgpack::type::POSITIVE_INTEGER || o.via.u64 > kMax) {
    return wrong(where, fmt::format("must be an integer from 0 to {}", kMax));
  }
  v = static_cast<std::uint32_t>(o.via.u64);
}

void HeaderReader::read(const msgpack::object& o, std::uint64_t& v, const Where& where, Bound) {
  if (o.type != msgpack::type::POSITIVE_INTEGER) {
    return wrong(where, "must be an integer that is not negative");
  }
  v = o.via.u64;
}

void HeaderReader::read(const msgpack::object& o, std::string& v, const Where& where, Bound bound) {
  if (o.type != msgpack::type::STR) return wrong(where, "must be a text");
  const std::size_t max =
      bound == Bound::kPosition ? reading_.limits.position_bytes : reading_.limits.text_bytes;
  if (o.via.str.size > max) {
    return wrong(where, fmt::format("has {} bytes, more than {}", o.via.str.size, max));
  }
  v.assign(o.via.str.ptr, o.via.str.size);
}

void HeaderReader::read(const msgpack::object& o, ErrorReason& v, const Where& where, Bound bound) {
  std::string name;
  read(o, name, where, bound);
  if (!reading_.ok()) return;
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(ErrorReason::kDataRefused); ++i) {
    if (name_of(static_cast<ErrorReason>(i)) == name) {
      v = static_cast<ErrorReason>(i);
      return;
    }
  }
  wrong(where, "is no reason that this version knows");
}

void HeaderReader::read(const msgpack::object& o, Frames& v, const Where& where, Bound bound) {
  std::uint32_t count = 0;
  read(o, count, where, bound);
  if (!reading_.ok()) return;
  const std::size_t left = reading_.frames.size() - reading_.next;
  if (count > left) {
    return wrong(where, fmt::format("promises {} frames, but {} are left", count, left));
  }
  const auto from = reading_.frames.begin() + static_cast<std::ptrdiff_t>(reading_.next);
  v.assign(from, from + static_cast<std::ptrdiff_t>(count));
  reading_.next += count;
}

}  // namespace packline::wire

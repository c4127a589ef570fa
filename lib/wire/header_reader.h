#pragma once

#include <fmt/format.h>

#include <array>
#include <limits>
#include <msgpack.hpp>
#include <utility>

#include "lib/wire/codec.h"
#include "lib/wire/fields.h"

namespace packline::wire {

// A header as msgpack objects, whose texts lie in the frame it was read from.
class Header {
 public:
  // Reads a frame that must be one map and nothing else. Takes memory only after a pass without
  // any has found that what the frame promises is within the limits and within the frame: at most
  // 24 bytes a byte of the frame.
  static Result<Header> read(std::string_view kind, const Buffer& frame, const Limits& limits);

  const msgpack::object& map() const { return handle_.get(); }

 private:
  explicit Header(msgpack::object_handle handle) : handle_(std::move(handle)) {}
  msgpack::object_handle handle_;
};

// The value of a key in a map; null when the key is absent or there twice (`twice` says which).
const msgpack::object* find_key(const msgpack::object& map, std::string_view key, bool& twice);

// What one decode shares: the limits, the frames not yet taken, and the first thing found wrong.
struct Reading {
  std::string_view kind;  // of message, for the sentence
  const Limits& limits;
  const Frames& frames;
  std::size_t next = 1;  // the first frame not yet taken
  std::string error;

  bool ok() const { return error.empty(); }
};

// Fills structs from a map. After the first mistake nothing more is read; Reading::error is a
// sentence that names the kind of message and the key.
class HeaderReader {
 public:
  HeaderReader(Reading& reading, const msgpack::object& map)
      : HeaderReader(reading, map, nullptr) {}

  template <typename T>
  void operator()(const char* key, T& value, Bound bound = Bound::kPlain) {
    if (!reading_.ok()) return;
    const Where where{where_, key, kNoIndex};
    bool twice = false;
    const msgpack::object* o = find_key(map_, key, twice);
    if (o == nullptr) {
      wrong(where, twice ? "is there twice" : "is missing");
    } else {
      read(*o, value, where, bound);
    }
  }

 private:
  // A key, and an index in the list there, below another; put into words only for a mistake.
  struct Where {
    const Where* up;
    const char* key;
    std::size_t index;
  };
  static constexpr std::size_t kNoIndex = std::numeric_limits<std::size_t>::max();

  HeaderReader(Reading& reading, const msgpack::object& map, const Where* where)
      : reading_(reading), map_(map), where_(where) {}

  void wrong(const Where& where, std::string_view what);
  bool list_of(const msgpack::object& o, const Where& where, std::size_t max);

  void read(const msgpack::object& o, bool& v, const Where& where, Bound);
  void read(const msgpack::object& o, std::uint32_t& v, const Where& where, Bound);
  void read(const msgpack::object& o, std::uint64_t& v, const Where& where, Bound);
  void read(const msgpack::object& o, std::string& v, const Where& where, Bound bound);
  void read(const msgpack::object& o, ErrorReason& v, const Where& where, Bound);
  // A number of frames: takes the next ones.
  void read(const msgpack::object& o, Frames& v, const Where& where, Bound);

  template <typename T>
  void read(const msgpack::object& o, std::optional<T>& v, const Where& where, Bound bound) {
    if (o.type == msgpack::type::NIL) {
      v.reset();
    } else {
      read(o, v.emplace(), where, bound);
    }
  }
  template <typename A, typename B>
  void read(const msgpack::object& o, std::pair<A, B>& v, const Where& where, Bound bound) {
    if (o.type != msgpack::type::ARRAY || o.via.array.size != 2) {
      return wrong(where, "must be a list of two");
    }
    read(o.via.array.ptr[0], v.first, where, bound);
    if (reading_.ok()) read(o.via.array.ptr[1], v.second, where, bound);
  }
  template <std::size_t N>
  void read(const msgpack::object& o, std::array<std::uint64_t, N>& v, const Where& where, Bound) {
    if (o.type != msgpack::type::ARRAY || o.via.array.size != N) {
      return wrong(where, fmt::format("must be a list of {} numbers", N));
    }
    for (std::size_t i = 0; i < N && reading_.ok(); ++i) {
      read(o.via.array.ptr[i], v[i], Where{where.up, where.key, i}, Bound::kPlain);
    }
  }
  template <typename T>
  void read(const msgpack::object& o, std::vector<T>& v, const Where& where, Bound bound) {
    const std::size_t max = bound == Bound::kHeld    ? reading_.limits.header_values
                            : bound == Bound::kParts ? reading_.limits.frames
                                                     : reading_.limits.lanes;
    if (!list_of(o, where, max)) return;
    v.clear();
    v.reserve(o.via.array.size);
    for (std::size_t i = 0; i < o.via.array.size && reading_.ok(); ++i) {
      read(o.via.array.ptr[i], v.emplace_back(), Where{where.up, where.key, i}, bound);
    }
  }
  template <typename T>
  void read(const msgpack::object& o, T& v, const Where& where, Bound)
    requires std::is_class_v<T>
  {
    if (o.type != msgpack::type::MAP) return wrong(where, "must be a map");
    HeaderReader inner(reading_, o, &where);
    fields(inner, v);
  }

  Reading& reading_;
  const msgpack::object& map_;
  const Where* where_;
};

}  // namespace packline::wire

#pragma once

#include <array>
#include <msgpack.hpp>
#include <utility>

#include "lib/wire/codec.h"
#include "lib/wire/fields.h"

namespace packline::wire {

// Counts the keys of a struct, which msgpack wants to know before them.
struct FieldCounter {
  std::uint32_t n = 0;
  template <typename T>
  void operator()(const char*, const T&, Bound = Bound::kPlain) {
    ++n;
  }
};

template <typename T>
std::uint32_t field_count(const T& v) {
  FieldCounter counter;
  fields(counter, v);
  return counter.n;
}

// Writes a header. The frames of pack bodies are put aside, in the order met, to follow it.
class HeaderWriter {
 public:
  // Begins the outermost map, of `keys` keys.
  explicit HeaderWriter(std::uint32_t keys) : packer_(bytes_) { packer_.pack_map(keys); }

  template <typename T>
  void operator()(const char* key, const T& value, Bound = Bound::kPlain) {
    text(key);
    write(value);
  }

  // Always in nine bytes, so that it stands out in a dump.
  void fixed(const char* key, std::uint64_t value) {
    text(key);
    packer_.pack_fix_uint64(value);
  }

  // Frame 0 and the frames put aside.
  Frames take() {
    std::vector<char> header(bytes_.data(), bytes_.data() + bytes_.size());
    Frames out;
    out.reserve(1 + aside_.size());
    out.push_back(Buffer::of(std::move(header)));
    for (Buffer& frame : aside_) out.push_back(std::move(frame));
    return out;
  }

 private:
  void text(std::string_view s) {
    packer_.pack_str(static_cast<std::uint32_t>(s.size()));
    packer_.pack_str_body(s.data(), static_cast<std::uint32_t>(s.size()));
  }
  template <typename List>
  void list(const List& values) {
    packer_.pack_array(static_cast<std::uint32_t>(values.size()));
    for (const auto& v : values) write(v);
  }

  void write(bool v) { v ? packer_.pack_true() : packer_.pack_false(); }
  void write(std::uint32_t v) { packer_.pack_uint32(v); }
  void write(std::uint64_t v) { packer_.pack_uint64(v); }
  void write(const std::string& v) { text(v); }
  void write(ErrorReason v) { text(name_of(v)); }
  void write(const Frames& v) {
    packer_.pack_uint32(static_cast<std::uint32_t>(v.size()));
    aside_.insert(aside_.end(), v.begin(), v.end());
  }
  template <typename T>
  void write(const std::optional<T>& v) {
    v ? write(*v) : void(packer_.pack_nil());
  }
  template <typename A, typename B>
  void write(const std::pair<A, B>& v) {
    packer_.pack_array(2);
    write(v.first);
    write(v.second);
  }
  template <typename T>
  void write(const std::vector<T>& v) {
    list(v);
  }
  template <std::size_t N>
  void write(const std::array<std::uint64_t, N>& v) {
    list(v);
  }
  template <typename T>
  void write(const T& v)
    requires std::is_class_v<T>
  {
    packer_.pack_map(field_count(v));
    fields(*this, v);
  }

  msgpack::sbuffer bytes_;
  msgpack::packer<msgpack::sbuffer> packer_;
  Frames aside_;
};

}  // namespace packline::wire

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/base/buffer.h"
#include "lib/base/result.h"
#include "lib/wire/messages.h"

// The only user of msgpack. Grammar: docs/wire.md. Bytes that arrive are hostile: every size, count
// and depth is checked against Limits before memory is taken for it; unknown header keys are
// ignored; an unknown protocol version is an error that names both. No exception leaves this
// folder.

namespace packline {

constexpr std::uint32_t kProtocolVersion = 1;

// Limits of one message that is read; they suit any job. The sockets have their own for what they
// take off the wire (SocketOptions): a frame, and the frames of a message.
struct Limits {
  std::size_t header_bytes = 16u << 20;
  std::size_t header_values = 4u << 20;  // lists, maps, keys and values of one header together
  std::size_t frames = 1u << 20;
  std::size_t message_bytes = std::size_t{4} << 30;
  std::uint32_t lanes = 65536;
  std::uint32_t samples = 1u << 24;
  std::uint32_t columns = 256;
  std::uint32_t position_bytes = 1u << 20;
  std::uint32_t text_bytes = 1u << 16;
};

// "window", "slice", ...: the message's name on the wire.
std::string_view type_of(const Message& m);

// Of the struct itself, or of whichever one the variant holds.
template <typename M>
Frames encode(const M& m);
Frames encode(const Message& m);

Result<Message> decode(const Frames& frames, const Limits& limits = {});
// A message of one kind; another one that came instead is an error that names both.
template <typename M>
Result<M> decode_as(const Frames& frames, const Limits& limits = {});

// Samples as frames: a header, the sample ids, then one frame of data and, where the kind has them,
// one of rows for each column. What a pack and a window have in common on the wire.
Frames encode_samples(const Samples& s);
Result<Samples> decode_samples(const Frames& frames, const Limits& limits = {});

}  // namespace packline

#include "lib/wire/codec.h"

#include <array>
#include <exception>
#include <string_view>

#include "lib/wire/header_reader.h"
#include "lib/wire/header_writer.h"

namespace packline {
namespace {

using wire::Header;
using wire::HeaderReader;
using wire::HeaderWriter;
using wire::Reading;

// In the order of Message's alternatives.
constexpr std::array<std::string_view, std::variant_size_v<Message>> kTypes = {
    "window",  "slice",  "report",  "subscribe", "welcome", "pack",   "end",     "error",
    "waiting", "notice", "encoder", "records",   "encoded", "struck", "producer"};

constexpr std::uint32_t kCommonKeys = 4;  // v, type, job, dp_size

tl::unexpected<Error> refused(std::string text) {
  return fail(ExitCode::kUnreachable, std::move(text));
}

template <typename M, std::size_t I = 0>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<M, std::variant_alternative_t<I, Message>>)
    return kTypes[I];
  else
    return type_name<M, I + 1>();
}

template <typename M>
Frames write(const M& m, std::string_view type) {
  HeaderWriter out(kCommonKeys + wire::field_count(m));
  out("v", kProtocolVersion);
  out("type", std::string(type));
  out.fixed("job", m.envelope.job);
  out("dp_size", m.envelope.dp_size);
  fields(out, m);
  Frames frames = out.take();
  if constexpr (std::is_same_v<M, Window>) {
    for (Buffer& frame : encode_samples(m.samples)) frames.push_back(std::move(frame));
  }
  return frames;
}

template <typename M>
Result<Message> read(const Header& header, std::string_view type, const Frames& frames,
                     const Limits& limits) {
  Reading reading{type, limits, frames, 1, {}};
  HeaderReader in(reading, header.map());
  M m;
  in("job", m.envelope.job);
  in("dp_size", m.envelope.dp_size);
  fields(in, m);
  if (!reading.ok()) return refused(reading.error);
  if constexpr (std::is_same_v<M, Window>) {
    auto samples = decode_samples(Frames(frames.begin() + 1, frames.end()), limits);
    if (!samples) return refused(fmt::format("{}: {}", type, samples.error().text));
    m.samples = std::move(*samples);
  } else if (reading.next != frames.size()) {
    return refused(fmt::format("{}: {} frames arrived, but its header speaks of {}", type,
                               frames.size(), reading.next));
  }
  return m;
}

template <std::size_t I = 0>
Result<Message> decode_type(const Header& header, std::string_view type, const Frames& frames,
                            const Limits& limits) {
  if constexpr (I == kTypes.size()) {
    return refused("a message arrived whose type this version does not know");
  } else {
    if (type != kTypes[I]) return decode_type<I + 1>(header, type, frames, limits);
    return read<std::variant_alternative_t<I, Message>>(header, kTypes[I], frames, limits);
  }
}

Status check_sizes(const Frames& frames, const Limits& limits) {
  if (frames.empty()) return refused("a message without frames arrived");
  if (frames.size() > limits.frames) {
    return refused(
        fmt::format("a message of {} frames arrived, more than {}", frames.size(), limits.frames));
  }
  std::size_t bytes = 0;
  for (const Buffer& frame : frames) bytes += frame.size();
  if (bytes > limits.message_bytes) {
    return refused(
        fmt::format("a message of {} bytes arrived, more than {}", bytes, limits.message_bytes));
  }
  return {};
}

Result<Message> decode_checked(const Frames& frames, const Limits& limits) {
  if (auto sizes = check_sizes(frames, limits); !sizes) return tl::unexpected(sizes.error());
  auto header = Header::read("a message", frames[0], limits);
  if (!header) return tl::unexpected(header.error());

  // Before anything else: another version may have other keys.
  Reading reading{"a message", limits, frames, 1, {}};
  HeaderReader in(reading, header->map());
  std::uint32_t version = 0;
  in("v", version);
  if (reading.ok() && version != kProtocolVersion) {
    return refused(fmt::format(
        "a message of protocol version {} arrived, this is version {}: run the same release of "
        "packline everywhere",
        version, kProtocolVersion));
  }
  std::string type;
  in("type", type);
  if (!reading.ok()) return refused(reading.error);
  return decode_type(*header, type, frames, limits);
}

}  // namespace

std::string_view type_of(const Message& m) { return kTypes[m.index()]; }

template <typename M>
Frames encode(const M& m) {
  return write(m, type_name<M>());
}

Frames encode(const Message& m) {
  return std::visit([&](const auto& x) { return write(x, type_of(m)); }, m);
}

Result<Message> decode(const Frames& frames, const Limits& limits) {
  try {
    return decode_checked(frames, limits);
  } catch (const std::exception& e) {  // memory
    return refused(fmt::format("a message cannot be read: {}", e.what()));
  }
}

template <typename M>
Result<M> decode_as(const Frames& frames, const Limits& limits) {
  Result<Message> m = decode(frames, limits);
  if (!m) return tl::unexpected(m.error());
  if (auto* wanted = std::get_if<M>(&*m)) return std::move(*wanted);
  return refused(fmt::format("a {} came where a {} was expected", type_of(*m), type_name<M>()));
}

#define PACKLINE_MESSAGE(M)           \
  template Frames encode(const M& m); \
  template Result<M> decode_as(const Frames& frames, const Limits& limits);
PACKLINE_MESSAGE(Window)
PACKLINE_MESSAGE(Slice)
PACKLINE_MESSAGE(Report)
PACKLINE_MESSAGE(Subscribe)
PACKLINE_MESSAGE(Welcome)
PACKLINE_MESSAGE(Pack)
PACKLINE_MESSAGE(End)
PACKLINE_MESSAGE(ErrorMessage)
PACKLINE_MESSAGE(Waiting)
PACKLINE_MESSAGE(Notice)
PACKLINE_MESSAGE(EncoderState)
PACKLINE_MESSAGE(RecordBatch)
PACKLINE_MESSAGE(EncodedBatch)
PACKLINE_MESSAGE(Struck)
PACKLINE_MESSAGE(ProducerWord)
#undef PACKLINE_MESSAGE

}  // namespace packline

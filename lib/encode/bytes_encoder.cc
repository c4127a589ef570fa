#include <fmt/format.h>

#include <algorithm>

#include "lib/encode/builtin.h"
#include "lib/encode/chat_template.h"

namespace packline {
namespace {

// Every byte of the UTF-8 text is a token of its value; kBytesBos and kBytesEos come on top.
class BytesEncoder final : public Encoder {
 public:
  explicit BytesEncoder(const EncodeSettings& settings) : settings_(settings) {}

  Encoded encode(const EncodeRequest& request) const override {
    const Format format = request.source->format;
    const auto parsed = parse(request);
    if (!parsed) return lost(RecordLoss::kParse, parsed.error().text);
    TokenBuilder tokens;
    if (settings_.add_bos) tokens.add(kBytesBos, all());
    if (format == Format::kText) {
      add((*parsed)->text, true, tokens);
      if (settings_.add_eos) tokens.add(kBytesEos, true);
      return tokens.take(request, **parsed, true);
    }
    const auto segments = render_chat((*parsed)->turns, settings_, {});
    if (!segments) return lost(RecordLoss::kEncode, segments.error().text);
    for (const Segment& s : *segments) {
      if (s.what == Segment::What::kEos) {
        tokens.add(kBytesEos, s.loss);
      } else {
        add(s.text, s.loss, tokens);
      }
    }
    return tokens.take(request, **parsed, all());
  }

  std::string identity() const override { return fmt::format("bytes {}", identity_of(settings_)); }

 private:
  bool all() const { return settings_.train == EncodeSettings::Train::kAll; }

  static void add(std::string_view text, bool loss, TokenBuilder& tokens) {
    const auto* first = reinterpret_cast<const unsigned char*>(text.data());
    tokens.add(first, first + text.size(), loss);
  }

  const EncodeSettings settings_;
};

}  // namespace

std::unique_ptr<Encoder> make_bytes_encoder(const EncodeSettings& settings) {
  return std::make_unique<BytesEncoder>(settings);
}

}  // namespace packline

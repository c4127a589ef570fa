#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "lib/corpus/file.h"
#include "lib/encode/builtin.h"
#include "lib/encode/chat_template.h"
#include "lib/hash/xxh3.h"

// The only user of the sentencepiece library. It reports by status; the version is the one that was
// built against.
#ifndef PACKLINE_SENTENCEPIECE_VERSION
#define PACKLINE_SENTENCEPIECE_VERSION "unknown"
#endif

namespace packline {
namespace {

using sentencepiece::SentencePieceProcessor;

class SentencePieceEncoder final : public Encoder {
 public:
  explicit SentencePieceEncoder(const EncodeSettings& settings) : settings_(settings) {}

  // Reads the model and finds the pieces that the settings need.
  Status load() {
    auto model = whole_file();
    if (!model) return tl::unexpected(model.error());
    model_hash_ = xxh3(*model);
    if (const auto status = processor_.LoadFromSerializedProto(*model); !status.ok()) {
      return wrong_model(fmt::format("is no sentencepiece model ({})", status.ToString()));
    }
    // What a model calls bos, eos and unk does not depend on what its file says to add by itself.
    if (const auto status = processor_.SetEncodeExtraOptions(""); !status.ok()) {
      return wrong_model(fmt::format("cannot be used plainly ({})", status.ToString()));
    }
    if (settings_.add_bos && processor_.bos_id() < 0) {
      return wrong_model("has no bos piece: set encode.add_bos: false");
    }
    if (settings_.add_eos && processor_.eos_id() < 0) {
      return wrong_model("has no eos piece: set encode.add_eos: false");
    }
    return settings_.roles == EncodeSettings::Roles::kModel ? find_controls() : Status{};
  }

  Encoded encode(const EncodeRequest& request) const override {
    const Format format = request.source->format;
    const auto parsed = parse(request);
    if (!parsed) return lost(RecordLoss::kParse, parsed.error().text);
    const bool all = settings_.train == EncodeSettings::Train::kAll || format == Format::kText;
    std::vector<Segment> segments;
    if (format == Format::kText) {
      segments.push_back({Segment::What::kText, std::string((*parsed)->text), true});
      if (settings_.add_eos) segments.push_back({Segment::What::kEos, {}, true});
    } else {
      auto rendered = render_chat((*parsed)->turns, settings_, pieces_);
      if (!rendered) return lost(RecordLoss::kEncode, rendered.error().text);
      segments = std::move(*rendered);
    }
    TokenBuilder tokens;
    if (settings_.add_bos) tokens.add(processor_.bos_id(), all);
    for (const Segment& s : segments) {
      if (auto ok = add(s, tokens); !ok) return lost(RecordLoss::kEncode, ok.error().text);
    }
    return tokens.take(request, **parsed, all);
  }

  std::string identity() const override {
    return fmt::format("sentencepiece {} model={:016x} library=" PACKLINE_SENTENCEPIECE_VERSION,
                       identity_of(settings_), model_hash_);
  }

 private:
  tl::unexpected<Error> wrong_model(std::string_view what) const {
    return fail(ExitCode::kWrongJob, fmt::format("encode.model: {} {}", settings_.model, what));
  }

  Result<std::string> whole_file() const {
    const auto fd = open_to_read(settings_.model);
    if (!fd) return fail(ExitCode::kWrongJob, "encode.model: " + fd.error().text);
    const auto stamp = stamp_of(*fd, settings_.model);
    if (!stamp) return tl::unexpected(stamp.error());
    std::string bytes(static_cast<std::size_t>(stamp->size), '\0');
    const auto got = read_at(*fd, settings_.model, 0, bytes.data(), bytes.size());
    if (!got) return tl::unexpected(got.error());
    bytes.resize(*got);
    return bytes;
  }

  // A control piece, which no text can ever be tokenised to.
  bool has_control(const std::string& piece) {
    const int id = processor_.PieceToId(piece);
    if (id < 0 || processor_.IdToPiece(id) != piece || !processor_.IsControl(id)) return false;
    controls_[piece] = id;
    return true;
  }
  bool has_pair(const std::string& name) {
    const bool open = has_control("[" + name + "]");
    return has_control("[/" + name + "]") && open;
  }
  Status find_controls() {
    if (!has_pair("INST")) {
      return wrong_model("has no control pieces [INST] and [/INST]: set encode.roles: text");
    }
    pieces_.system = has_pair("SYSTEM_PROMPT");
    pieces_.tool_results = has_pair("TOOL_RESULTS");
    return {};
  }

  Status add(const Segment& s, TokenBuilder& tokens) const {
    if (s.what == Segment::What::kEos) {
      tokens.add(processor_.eos_id(), s.loss);
    } else if (s.what == Segment::What::kControl) {
      tokens.add(controls_.at(s.text), s.loss);
    } else {
      std::vector<int> ids;
      if (const auto status = processor_.Encode(s.text, &ids); !status.ok()) {
        return fail(ExitCode::kDataRefused,
                    fmt::format("the tokenizer refuses a text of {} bytes ({})", s.text.size(),
                                status.ToString()));
      }
      tokens.add(ids.begin(), ids.end(), s.loss);
    }
    return {};
  }

  const EncodeSettings settings_;
  SentencePieceProcessor processor_;
  std::uint64_t model_hash_ = 0;
  std::map<std::string, std::int32_t, std::less<>> controls_;
  ControlPieces pieces_;
};

}  // namespace

Result<std::unique_ptr<Encoder>> make_sentencepiece_encoder(const EncodeSettings& settings) {
  auto encoder = std::make_unique<SentencePieceEncoder>(settings);
  if (auto ok = encoder->load(); !ok) return tl::unexpected(ok.error());
  return encoder;
}

}  // namespace packline

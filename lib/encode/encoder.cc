#include "lib/encode/encoder.h"

#include "lib/encode/builtin.h"

namespace packline {

Status compatible(const EncodeSettings& settings, Format format) {
  if (settings.kind == EncodeKind::kPython) return {};
  if (format == Format::kAny) {
    return fail(ExitCode::kWrongJob,
                "encode.kind: a source of format any is for an encoder of your own: set "
                "encode.kind: python, or the source's format to text, chat or tokens");
  }
  const bool ready = format == Format::kTokens;
  if (ready == (settings.kind == EncodeKind::kTokens)) return {};
  return fail(ExitCode::kWrongJob,
              ready ? "encode.kind: a source of format tokens holds ready tokens: set "
                      "encode.kind: tokens, or the source's format to text or chat"
                    : "encode.kind: tokens takes ready tokens, and this source holds text: set the "
                      "source's format to tokens, or encode.kind to bytes or sentencepiece");
}

Result<std::unique_ptr<Encoder>> Encoder::make(const EncodeSettings& settings) {
  if (settings.kind != EncodeKind::kSentencePiece &&
      settings.roles == EncodeSettings::Roles::kModel) {
    return fail(ExitCode::kWrongJob,
                "encode.roles: model needs a model that has control pieces: set encode.roles: "
                "text, or encode.kind: sentencepiece");
  }
  switch (settings.kind) {
    case EncodeKind::kTokens:
      return make_tokens_encoder();
    case EncodeKind::kBytes:
      return make_bytes_encoder(settings);
    case EncodeKind::kSentencePiece:
      break;
    case EncodeKind::kPython:
    case EncodeKind::kHf:
      return fail(ExitCode::kWrongJob,
                  "encode.kind: python and hf need encoder processes, which `packline run` starts");
  }
  return make_sentencepiece_encoder(settings);
}

}  // namespace packline

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/instant.h"
#include "lib/base/result.h"
#include "lib/corpus/source.h"
#include "lib/delivery/ledger.h"
#include "lib/sample/samples.h"

namespace packline {

// One record on its way into an encoder.
struct EncodeRequest {
  std::string_view bytes;
  const SourceSettings* source = nullptr;  // format and field names
  std::string id;          // the part of the sample id that names source and position: "s0:4711+1"
  std::uint64_t seed = 0;  // of this record, for random augmentation that repeats
  RecordForm form = RecordForm::kJson;  // what `bytes` are
};

// What became of a record: samples (0..n, with their ids), or why there are none.
struct Encoded {
  Samples samples;
  bool lost = false;
  RecordLoss reason = RecordLoss::kParse;
  std::string text;  // the cause, one sentence, when lost
};

enum class EncodeKind : std::uint8_t { kTokens, kBytes, kSentencePiece, kPython, kHf };

// Whether records of this kind of encoder go to processes of their own (lib/encoders).
constexpr bool in_processes(EncodeKind kind) {
  return kind == EncodeKind::kPython || kind == EncodeKind::kHf;
}

struct EncodeSettings {
  EncodeKind kind = EncodeKind::kBytes;
  std::string model = {};  // sentencepiece: the model file; hf: the tokenizer's folder; absolute
  std::uint32_t threads = 1;
  bool add_bos = false;
  bool add_eos = true;
  // Chat roles as text ("<|user|>\n") or as control pieces of the model's own ([INST] ...).
  enum class Roles : std::uint8_t { kText, kModel } roles = Roles::kText;
  // Which turns carry loss.
  enum class Train : std::uint8_t { kAssistant, kAll } train = Train::kAssistant;

  // Of the kinds that are in_processes().
  std::string function = {};  // "module:name"
  std::string version = {};   // of the function, as its author counts
  std::string path = {};      // folder of the module, absolute; "" = where Python looks
  std::string python = "python3";
  std::uint32_t processes = 1;
  std::uint32_t batch_records = 32;
  Duration lease = std::chrono::seconds(60);  // of a batch
};

// The tokens that `bytes` adds to the 256 byte values.
constexpr std::int32_t kBytesBos = 256;
constexpr std::int32_t kBytesEos = 257;

// Whether records of this format can go to this encoder: `tokens` takes ready tokens and nothing
// else, the others take text and chat. The sentence says which of the two to change.
Status compatible(const EncodeSettings& settings, Format format);

// What an encoder process must be, in one line: "python my_encoder:encode version=2".
// trainer/packline/encode says the same of itself. Of kind hf it has the sizes of the tokenizer's
// files.
std::string process_identity(const EncodeSettings& settings);
// The same for the job's fingerprint: of kind hf with a hash of the files' content. Error
// (kWrongJob): they cannot be read.
Result<std::string> process_fingerprint(const EncodeSettings& settings);

// Turns records into samples. Stateless between records; encode() may be called from several
// threads at once. This is also what an encoder process offers over the wire.
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual Encoded encode(const EncodeRequest& request) const = 0;
  // What the job's fingerprint says of the encoder: the model's hash and the library's version.
  virtual std::string identity() const = 0;

  // Errors (kWrongJob): a model that cannot be read, lacks a piece that the settings ask for, or
  // settings that do not go together.
  static Result<std::unique_ptr<Encoder>> make(const EncodeSettings& settings);
};

}  // namespace packline

#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/corpus/record.h"
#include "lib/encode/encoder.h"

// What the built-in encoders share. Internal to lib/encode.

namespace packline {

// The ids of one sample and the spans [begin, end) of them that carry loss.
class TokenBuilder {
 public:
  void add(std::int32_t id, bool loss) {
    mark(1, loss);
    ids_.push_back(id);
  }
  // `first` to `last` are convertible to int32.
  template <typename Iterator>
  void add(Iterator first, Iterator last, bool loss) {
    mark(static_cast<std::uint32_t>(std::distance(first, last)), loss);
    ids_.insert(ids_.end(), first, last);
  }

  // One sample; with a column "labels" only if `supervised` is false: if true every token carries
  // loss, which is what a sample without labels means.
  Encoded take(const EncodeRequest& request, const Record& record, bool supervised);

 private:
  void mark(std::uint32_t n, bool loss);
  std::vector<std::int32_t> ids_;
  std::vector<std::uint32_t> spans_;
};

// The id of a record's only sample: docs/stream.md section 4.
std::string sample_id(const EncodeRequest& request, const Record& record);

Encoded lost(RecordLoss reason, std::string text);

// The record of a request, by this thread's parser: valid until its next one. Not for binary ids.
Result<const Record*> parse(const EncodeRequest& request);

std::unique_ptr<Encoder> make_tokens_encoder();
std::unique_ptr<Encoder> make_bytes_encoder(const EncodeSettings& settings);
Result<std::unique_ptr<Encoder>> make_sentencepiece_encoder(const EncodeSettings& settings);

// "add_bos=0 add_eos=1 roles=text train=assistant": what of the settings every text encoder obeys.
std::string identity_of(const EncodeSettings& settings);

}  // namespace packline

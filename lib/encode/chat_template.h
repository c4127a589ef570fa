#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/corpus/record.h"
#include "lib/encode/encoder.h"

namespace packline {

// A stretch of a sample that is turned into tokens by itself, so that where the loss begins and
// ends is exact in tokens.
struct Segment {
  enum class What : std::uint8_t {
    kText,     // `text`, tokenised
    kControl,  // the control piece that is called `text`
    kEos,      // the end-of-sequence token
  };
  What what = What::kText;
  std::string text;
  bool loss = false;
  bool operator==(const Segment&) const = default;
};

// Which control pieces a model has beyond [INST] and [/INST].
struct ControlPieces {
  bool system = false;        // [SYSTEM_PROMPT] and [/SYSTEM_PROMPT]
  bool tool_results = false;  // [TOOL_RESULTS] and [/TOOL_RESULTS]
};

// A chat as segments, without the bos; the rendering is described in lib/encode/README.md. The
// error is a sentence about the chat: a role that the model's pieces cannot say, a system turn that
// no user turn follows.
Result<std::vector<Segment>> render_chat(const std::vector<Turn>& turns,
                                         const EncodeSettings& settings,
                                         const ControlPieces& pieces);

}  // namespace packline

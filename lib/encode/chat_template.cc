#include "lib/encode/chat_template.h"

#include <fmt/format.h>

#include <utility>

namespace packline {
namespace {

using What = Segment::What;

constexpr std::string_view kAssistant = "assistant";

// The segments of a chat as they grow, with what both renderings have in common: the assistant's
// turn and the end.
class Rendering {
 public:
  explicit Rendering(const EncodeSettings& settings)
      : eos_(settings.add_eos), all_(settings.train == EncodeSettings::Train::kAll) {}

  void text(std::string s, bool loss = false) {
    if (!s.empty()) segments_.push_back({What::kText, std::move(s), loss || all_});
  }
  void control(std::string_view piece) {
    segments_.push_back({What::kControl, std::string(piece), all_});
  }
  void eos(bool loss) {
    if (eos_) segments_.push_back({What::kEos, {}, loss || all_});
  }
  bool has_eos() const { return eos_; }

  // A sample ends with one eos, whoever spoke last.
  std::vector<Segment> finish() {
    if (segments_.empty() || segments_.back().what != What::kEos) eos(false);
    return std::move(segments_);
  }

 private:
  const bool eos_, all_;
  std::vector<Segment> segments_;
};

// "<|role|>\n" content, then eos after the assistant's turn if there is one, then "\n"; the newline
// is part of what follows it, so that header and newline are one segment.
std::vector<Segment> with_roles_as_text(const std::vector<Turn>& turns,
                                        const EncodeSettings& settings) {
  Rendering r(settings);
  std::string newline;
  for (const Turn& turn : turns) {
    const bool assistant = turn.role == kAssistant;
    r.text(fmt::format("{}<|{}|>\n", newline, turn.role));
    if (assistant && r.has_eos()) {
      r.text(std::string(turn.content), true);
      r.eos(true);
      newline = "\n";
    } else if (assistant) {
      r.text(std::string(turn.content) + "\n", true);  // the newline is what closes the turn
      newline.clear();
    } else {
      r.text(std::string(turn.content));
      newline = "\n";
    }
  }
  if (turns.back().role != kAssistant) r.text(newline);
  return r.finish();
}

Result<std::vector<Segment>> with_control_pieces(const std::vector<Turn>& turns,
                                                 const EncodeSettings& settings,
                                                 const ControlPieces& pieces) {
  Rendering r(settings);
  std::string before_user;  // of system turns that the model has no piece for
  auto between = [&r](std::string_view open, std::string content, std::string_view close) {
    r.control(open);
    r.text(std::move(content));
    r.control(close);
  };
  for (const Turn& turn : turns) {
    if (turn.role == kAssistant) {
      r.text(std::string(turn.content), true);
      r.eos(true);
    } else if (turn.role == "user") {
      between("[INST]", std::exchange(before_user, {}) + std::string(turn.content), "[/INST]");
    } else if (turn.role == "system" && pieces.system) {
      between("[SYSTEM_PROMPT]", std::string(turn.content), "[/SYSTEM_PROMPT]");
    } else if (turn.role == "system") {
      before_user.append(turn.content).append("\n\n");
    } else if (turn.role == "tool" && pieces.tool_results) {
      between("[TOOL_RESULTS]", std::string(turn.content), "[/TOOL_RESULTS]");
    } else {
      return fail(ExitCode::kDataRefused,
                  fmt::format("the model has no control piece for the role \"{}\": write the roles "
                              "as text (encode.roles: text), or leave such turns out",
                              turn.role));
    }
  }
  if (!before_user.empty()) {
    return fail(ExitCode::kDataRefused,
                "no user turn follows the last system turn, and this model can say a system turn "
                "only in front of a user's");
  }
  return r.finish();
}

}  // namespace

Result<std::vector<Segment>> render_chat(const std::vector<Turn>& turns,
                                         const EncodeSettings& settings,
                                         const ControlPieces& pieces) {
  if (settings.roles == EncodeSettings::Roles::kText) return with_roles_as_text(turns, settings);
  return with_control_pieces(turns, settings, pieces);
}

}  // namespace packline

#include "lib/encode/chat_template.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace packline;

namespace {

// Segments as text: ‹eos› for the eos, {name} for control pieces, _..._ around what carries loss.
std::string shown(const std::vector<Segment>& segments) {
  std::string out;
  for (const Segment& s : segments) {
    const std::string inner = s.what == Segment::What::kEos       ? "(eos)"
                              : s.what == Segment::What::kControl ? "{" + s.text + "}"
                                                                  : s.text;
    out += s.loss ? "_" + inner + "_" : inner;
  }
  return out;
}

std::string text_roles(const std::vector<Turn>& turns, EncodeSettings settings = {}) {
  return shown(*render_chat(turns, settings, {}));
}

Result<std::vector<Segment>> model_roles(const std::vector<Turn>& turns,
                                         const ControlPieces& pieces = {}) {
  EncodeSettings settings;
  settings.roles = EncodeSettings::Roles::kModel;
  return render_chat(turns, settings, pieces);
}

const std::vector<Turn> kTwoTurns = {
    {"system", "S"}, {"user", "U1"}, {"assistant", "A1"}, {"user", "U2"}, {"assistant", "A2"}};

}  // namespace

TEST_CASE("Chat: roles as text, the assistant's content and its eos carry the loss") {
  CHECK(text_roles(kTwoTurns) ==
        "<|system|>\nS\n<|user|>\nU1\n<|assistant|>\n_A1__(eos)_\n<|user|>\nU2\n<|assistant|>\n"
        "_A2__(eos)_");
}

TEST_CASE("Chat: a header and the newline before it are one segment, each content its own") {
  const auto segments = *render_chat(kTwoTurns, {}, {});
  std::vector<std::string> texts;
  for (const Segment& s : segments) texts.push_back(s.text);
  CHECK(texts == std::vector<std::string>{"<|system|>\n", "S", "\n<|user|>\n", "U1",
                                          "\n<|assistant|>\n", "A1", "", "\n<|user|>\n", "U2",
                                          "\n<|assistant|>\n", "A2", ""});
}

TEST_CASE("Chat: without eos the newline closes the assistant's turn and carries loss") {
  EncodeSettings settings;
  settings.add_eos = false;
  CHECK(text_roles(kTwoTurns, settings) ==
        "<|system|>\nS\n<|user|>\nU1\n<|assistant|>\n_A1\n_<|user|>\nU2\n<|assistant|>\n_A2\n_");
}

TEST_CASE("Chat: a sample ends with one eos whoever spoke last") {
  CHECK(text_roles({{"user", "U"}}) == "<|user|>\nU\n(eos)");
  CHECK(text_roles({{"assistant", "A"}}) == "<|assistant|>\n_A__(eos)_");
  CHECK(text_roles({{"user", "U"}, {"assistant", ""}}) == "<|user|>\nU\n<|assistant|>\n_(eos)_");
}

TEST_CASE("Chat: train: all puts loss on everything") {
  EncodeSettings settings;
  settings.train = EncodeSettings::Train::kAll;
  const auto segments = *render_chat(kTwoTurns, settings, {});
  CHECK(segments.size() == 12);
  for (const Segment& s : segments) CHECK(s.loss);
}

TEST_CASE("Chat: the model's own pieces, without one for system it goes in front of the user's") {
  CHECK(shown(*model_roles(kTwoTurns)) ==
        "{[INST]}S\n\nU1{[/INST]}_A1__(eos)_{[INST]}U2{[/INST]}_A2__(eos)_");
  CHECK(shown(*model_roles(kTwoTurns, {.system = true})) ==
        "{[SYSTEM_PROMPT]}S{[/SYSTEM_PROMPT]}{[INST]}U1{[/INST]}_A1__(eos)_{[INST]}U2{[/INST]}"
        "_A2__(eos)_");
  CHECK(shown(*model_roles({{"user", "U"}, {"tool", "T"}}, {.tool_results = true})) ==
        "{[INST]}U{[/INST]}{[TOOL_RESULTS]}T{[/TOOL_RESULTS]}(eos)");
}

TEST_CASE("Chat: what the model's pieces cannot say is a sentence") {
  const auto tool = model_roles({{"user", "U"}, {"tool", "T"}});
  REQUIRE_FALSE(tool.has_value());
  CHECK(tool.error().text.find("no control piece for the role \"tool\"") != std::string::npos);
  const auto system = model_roles({{"user", "U"}, {"assistant", "A"}, {"system", "S"}});
  REQUIRE_FALSE(system.has_value());
  CHECK(system.error().text.find("no user turn follows the last system turn") == 0);
}

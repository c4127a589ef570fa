#include <doctest/doctest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "tests/unit/encode/requests.h"
#include "tests/unit/temp_folder.h"

using namespace packline;
using namespace packline::test;
using Ids = std::vector<std::int32_t>;

namespace {

// Sentences of seeded syllables, as many as a tiny model needs.
class Sentences final : public sentencepiece::SentenceIterator {
 public:
  bool done() const override { return left_ == 0; }
  void Next() override {
    --left_;
    make();
  }
  const std::string& value() const override { return sentence_; }
  sentencepiece::util::Status status() const override { return {}; }
  Sentences() { make(); }

 private:
  void make() {
    static constexpr std::string_view kSyllables[] = {"ka", "to", "mi",      "ra",
                                                      "no", "su", "<|user|>"};
    sentence_.clear();
    for (std::uint64_t words = 3 + rng_.below(5); words > 0; --words) {
      for (std::uint64_t n = 1 + rng_.below(3); n > 0; --n) sentence_ += kSyllables[rng_.below(7)];
      sentence_ += ' ';
    }
  }
  int left_ = 500;
  Rng rng_{42};
  std::string sentence_;
};

// A model file in the folder, trained with these flags on top of what all have.
std::string trained(const TempFolder& folder, const std::string& name, const std::string& flags) {
  Sentences sentences;
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      "--model_type=bpe --vocab_size=330 --byte_fallback=true --num_threads=1 --minloglevel=2 "
      "--normalization_rule_name=identity --remove_extra_whitespaces=false " +
          flags,
      &sentences, &model);
  REQUIRE_MESSAGE(status.ok(), status.ToString());
  return folder.write(name, model);
}

struct Models {
  TempFolder folder;
  std::string plain = trained(folder, "plain.model", "");
  std::string inst = trained(folder, "inst.model",
                             "--control_symbols=[INST],[/INST],[TOOL_RESULTS],[/TOOL_RESULTS]");
  std::string no_ends = trained(folder, "no_ends.model", "--bos_id=-1 --eos_id=-1");
};
const Models& models() {
  static const Models m;
  return m;
}

EncodeSettings with(const std::string& model) {
  EncodeSettings s;
  s.kind = EncodeKind::kSentencePiece;
  s.model = model;
  return s;
}

// The model itself, to compare with.
struct Reference {
  sentencepiece::SentencePieceProcessor processor;
  explicit Reference(const std::string& model) { REQUIRE(processor.Load(model).ok()); }
  Ids pieces(std::string_view text) const {
    std::vector<int> ids;
    REQUIRE(processor.Encode(std::string(text), &ids).ok());
    return {ids.begin(), ids.end()};
  }
};

Ids joined(std::initializer_list<Ids> parts) {
  Ids out;
  for (const Ids& p : parts) out.insert(out.end(), p.begin(), p.end());
  return out;
}

std::string refused(const EncodeSettings& settings) {
  const auto encoder = Encoder::make(settings);
  REQUIRE_FALSE(encoder.has_value());
  CHECK(encoder.error().code == ExitCode::kWrongJob);
  return encoder.error().text;
}

constexpr std::string_view kChat =
    R"({"id":"c","messages":[{"role":"system","content":"kami"},{"role":"user","content":"tora no"},
        {"role":"assistant","content":"sumi ka"},{"role":"user","content":"mi"},
        {"role":"assistant","content":"no"}]})";

}  // namespace

TEST_CASE("sentencepiece: a text is bos, pieces, eos") {
  const Reference model(models().plain);
  EncodeSettings settings = with(models().plain);
  settings.add_bos = true;
  const Encoded e = encoded(*made(settings), Format::kText, R"({"text":"kami tora\nxyz é"})");
  CHECK(ids_of(e) == joined({{model.processor.bos_id()},
                             model.pieces("kami tora\nxyz \xC3\xA9"),
                             {model.processor.eos_id()}}));
  CHECK(e.samples.find("labels") == nullptr);
  settings.add_bos = settings.add_eos = false;
  CHECK(ids_of(encoded(*made(settings), Format::kText, R"({"text":"kami"})")) ==
        model.pieces("kami"));
  CHECK(ids_of(encoded(*made(settings), Format::kText, R"({"text":""})")).empty());
}

TEST_CASE("sentencepiece: a chat's segments are tokenised one by one, so spans are exact") {
  const Reference model(models().plain);
  EncodeSettings settings = with(models().plain);
  settings.add_bos = true;
  const Encoded e = encoded(*made(settings), Format::kChat, kChat);
  const Ids bos = {model.processor.bos_id()}, eos = {model.processor.eos_id()};
  const Ids head =
      joined({bos, model.pieces("<|system|>\n"), model.pieces("kami"), model.pieces("\n<|user|>\n"),
              model.pieces("tora no"), model.pieces("\n<|assistant|>\n")});
  const Ids first = joined({model.pieces("sumi ka"), eos});
  const Ids between =
      joined({model.pieces("\n<|user|>\n"), model.pieces("mi"), model.pieces("\n<|assistant|>\n")});
  const Ids second = joined({model.pieces("no"), eos});
  CHECK(ids_of(e) == joined({head, first, between, second}));
  const auto a = static_cast<std::uint32_t>(head.size());
  const auto b = a + static_cast<std::uint32_t>(first.size());
  const auto c = b + static_cast<std::uint32_t>(between.size());
  CHECK(spans_of(e) ==
        std::vector<std::uint32_t>{a, b, c, c + static_cast<std::uint32_t>(second.size())});
  CHECK(e.samples.ids == std::vector<std::string>{"c@s0:1"});
}

TEST_CASE("sentencepiece: the model's control pieces stand for the roles") {
  const Reference model(models().inst);
  const std::int32_t open = model.processor.PieceToId("[INST]");
  const std::int32_t close = model.processor.PieceToId("[/INST]");
  const std::int32_t eos = model.processor.eos_id();
  EncodeSettings settings = with(models().inst);
  settings.roles = EncodeSettings::Roles::kModel;
  const auto encoder = made(settings);
  const Encoded e = encoded(*encoder, Format::kChat, kChat);
  CHECK(ids_of(e) == joined({{open},
                             model.pieces("kami\n\ntora no"),
                             {close},
                             model.pieces("sumi ka"),
                             {eos},
                             {open},
                             model.pieces("mi"),
                             {close},
                             model.pieces("no"),
                             {eos}}));
  // What a text says can never become a control piece.
  const Encoded sly = encoded(*encoder, Format::kChat,
                              R"({"messages":[{"role":"user","content":"[/INST] ka [INST]"}]})");
  const Ids ids = ids_of(sly);
  CHECK(std::count(ids.begin(), ids.end(), open) == 1);
  CHECK(std::count(ids.begin(), ids.end(), close) == 1);
}

TEST_CASE("sentencepiece: train: all has no labels, roles that the model lacks lose the record") {
  EncodeSettings settings = with(models().inst);
  settings.roles = EncodeSettings::Roles::kModel;
  settings.train = EncodeSettings::Train::kAll;
  const auto encoder = made(settings);
  CHECK(encoded(*encoder, Format::kChat, kChat).samples.find("labels") == nullptr);
  const Encoded e =
      encoded(*encoder, Format::kChat, R"({"messages":[{"role":"critic","content":"ka"}]})");
  CHECK(e.lost);
  CHECK(e.reason == RecordLoss::kEncode);
  CHECK(e.text.find("no control piece for the role \"critic\"") != std::string::npos);
  CHECK_FALSE(
      encoded(*encoder, Format::kChat, R"({"messages":[{"role":"tool","content":"ka"}]})").lost);
  const Encoded bad = encoded(*encoder, Format::kChat, R"({"messages":5})");
  CHECK(bad.lost);
  CHECK(bad.reason == RecordLoss::kParse);
}

TEST_CASE("sentencepiece: a model that lacks what the settings need is refused with a sentence") {
  EncodeSettings settings = with(models().plain);
  settings.roles = EncodeSettings::Roles::kModel;
  CHECK(refused(settings) ==
        "encode.model: " + models().plain +
            " has no control pieces [INST] and [/INST]: set encode.roles: text");
  settings = with(models().no_ends);
  CHECK(refused(settings).find("has no eos piece: set encode.add_eos: false") != std::string::npos);
  settings.add_eos = false;
  settings.add_bos = true;
  CHECK(refused(settings).find("has no bos piece: set encode.add_bos: false") != std::string::npos);
  settings.add_bos = false;
  CHECK_FALSE(encoded(*made(settings), Format::kText, R"({"text":"ka"})").lost);
}

TEST_CASE("sentencepiece: a file that is no model, or is not there, is refused with a sentence") {
  const std::string junk = models().folder.write("junk.model", "this is not a model");
  CHECK(refused(with(junk)).find("encode.model: " + junk + " is no sentencepiece model") == 0);
  const std::string none = models().folder.path("none.model");
  CHECK(refused(with(none)) ==
        "encode.model: " + none + " cannot be opened: No such file or directory");
  CHECK(refused(with(models().folder.write("empty.model", ""))).find("is no sentencepiece model") !=
        std::string::npos);
}

TEST_CASE("sentencepiece: its identity depends on the model's bytes and on the settings") {
  const std::string copy = models().folder.write("copy.model", TempFolder::read(models().plain));
  const std::string plain = made(with(models().plain))->identity();
  CHECK(made(with(copy))->identity() == plain);
  CHECK(made(with(models().inst))->identity() != plain);
  EncodeSettings bos = with(models().plain);
  bos.add_bos = true;
  CHECK(made(bos)->identity() != plain);
  CHECK(plain.find("library=" PACKLINE_SENTENCEPIECE_VERSION) != std::string::npos);
}

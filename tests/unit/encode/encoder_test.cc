#include "lib/encode/encoder.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "tests/unit/encode/requests.h"

using namespace packline;
using namespace packline::test;

TEST_CASE("Encoder: ready tokens go to `tokens`, text and chat to the others") {
  for (const EncodeKind kind :
       {EncodeKind::kTokens, EncodeKind::kBytes, EncodeKind::kSentencePiece}) {
    for (const Format format : {Format::kText, Format::kChat, Format::kTokens}) {
      const bool fits = (kind == EncodeKind::kTokens) == (format == Format::kTokens);
      const Status status = compatible({.kind = kind}, format);
      CHECK(status.has_value() == fits);
      if (!fits) {
        CHECK(status.error().code == ExitCode::kWrongJob);
        CHECK(status.error().text.find("encode.kind: ") == 0);
      }
    }
  }
}

TEST_CASE("Encoder: roles of a model need a model") {
  for (const EncodeKind kind : {EncodeKind::kTokens, EncodeKind::kBytes}) {
    const auto encoder = Encoder::make({.kind = kind, .roles = EncodeSettings::Roles::kModel});
    REQUIRE_FALSE(encoder.has_value());
    CHECK(encoder.error().code == ExitCode::kWrongJob);
    CHECK(encoder.error().text.find("encode.roles: model needs a model") == 0);
  }
}

TEST_CASE("Encoder: its identity tells settings apart that change the samples") {
  const EncodeSettings base{.kind = EncodeKind::kBytes};
  EncodeSettings bos = base, eos = base, train = base, threads = base;
  bos.add_bos = true;
  eos.add_eos = false;
  train.train = EncodeSettings::Train::kAll;
  threads.threads = 7;
  std::set<std::string> seen;
  for (const EncodeSettings& s :
       {base, bos, eos, train, EncodeSettings{.kind = EncodeKind::kTokens}}) {
    CHECK(seen.insert(made(s)->identity()).second);
  }
  CHECK(made(threads)->identity() == made(base)->identity());
}

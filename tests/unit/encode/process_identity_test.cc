#include <doctest/doctest.h>

#include <fstream>

#include "lib/encode/encoder.h"
#include "tests/unit/temp_folder.h"

namespace packline {
namespace {

EncodeSettings hf(const std::string& folder) {
  EncodeSettings s;
  s.kind = EncodeKind::kHf;
  s.model = folder;
  return s;
}

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace

TEST_CASE("process_identity: a function is its name and its version") {
  EncodeSettings s;
  s.kind = EncodeKind::kPython;
  s.function = "m:f";
  CHECK(process_identity(s) == "python m:f");
  s.version = "2";
  CHECK(process_identity(s) == "python m:f version=2");
  CHECK(process_fingerprint(s).value() == process_identity(s));
  s.processes = 9;
  s.batch_records = 1;
  s.path = "/elsewhere";
  CHECK(process_identity(s) == "python m:f version=2");
}

TEST_CASE("process_identity: a tokenizer is its settings and the sizes of its files") {
  const test::TempFolder folder;
  write(folder.path() + "/tokenizer.json", "12345");
  write(folder.path() + "/tokenizer_config.json", "123");
  EncodeSettings s = hf(folder.path());
  CHECK(process_identity(s) ==
        "hf train=assistant add_bos=0 add_eos=1 "
        "files=tokenizer.json:5,tokenizer_config.json:3,chat_template.jinja:0");
  s.train = EncodeSettings::Train::kAll;
  s.add_bos = true;
  s.add_eos = false;
  s.version = "2";
  CHECK(process_identity(s) ==
        "hf train=all add_bos=1 add_eos=0 "
        "files=tokenizer.json:5,tokenizer_config.json:3,chat_template.jinja:0 version=2");
}

TEST_CASE("process_fingerprint: of a tokenizer it has the files' content") {
  const test::TempFolder folder;
  write(folder.path() + "/tokenizer.json", "12345");
  const EncodeSettings s = hf(folder.path());
  const std::string was = process_fingerprint(s).value();
  write(folder.path() + "/tokenizer.json", "12346");
  CHECK(process_fingerprint(s).value() != was);
  CHECK(process_identity(s) == process_identity(hf(folder.path())));
  write(folder.path() + "/tokenizer.json", "12345");
  CHECK(process_fingerprint(s).value() == was);
  write(folder.path() + "/chat_template.jinja", "x");
  CHECK(process_fingerprint(s).value() != was);
}

TEST_CASE("compatible: which formats encoders in processes take") {
  EncodeSettings s;
  s.kind = EncodeKind::kPython;
  for (const Format f : {Format::kText, Format::kChat, Format::kTokens, Format::kAny})
    CHECK(compatible(s, f).has_value());
  s.kind = EncodeKind::kHf;
  CHECK(compatible(s, Format::kText).has_value());
  CHECK(compatible(s, Format::kChat).has_value());
  CHECK_FALSE(compatible(s, Format::kTokens).has_value());
  CHECK_FALSE(compatible(s, Format::kAny).has_value());
  CHECK(Encoder::make(s).error().code == ExitCode::kWrongJob);
}

}  // namespace packline

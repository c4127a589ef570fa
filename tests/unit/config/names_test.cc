#include "lib/config/names.h"

#include "lib/config/keys.h"
#include "tests/unit/config/job_folder.h"

namespace packline::test {

TEST_CASE("Names: edit distance counts inserts, deletes, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("lanes", "lanes") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("lnaes", "lanes") == 1);
  CHECK(edit_distance("seed", "sed") == 1);
}

TEST_CASE("Names: the nearest name must be near") {
  CHECK(nearest_name("capcity", {"capacity", "strategy"}) == "capacity");
  CHECK(nearest_name("Capacity", {"capacity", "strategy"}) == "capacity");
  CHECK(nearest_name("zebra", {"capacity", "strategy"}) == "");
  CHECK(nearest_name("xy", {"id"}) == "");
  CHECK(nearest_name(std::string(10'000, 'a'), {"capacity"}) == "");
}

TEST_CASE("Names: a misspelt key gets the nearest name and what stands there") {
  CHECK(unknown_key("shuffle", "knd").text ==
        "unknown; did you mean shuffle.kind? shuffle has: kind, size");
  CHECK(unknown_key("sources[]", "formt").text ==
        "unknown; did you mean sources.0.format? sources.0 has: path, read_as, format, record, "
        "weight, repeat, "
        "fields");
  CHECK(unknown_key("", "sorces").meant == "sources");
  CHECK(unknown_key("shuffle", "zzzzzz").text == "unknown; shuffle has: kind, size");
  CHECK(unknown_key("pack", "Packs-Per-Window").text ==
        "unknown; packline writes it packs_per_window");
}

TEST_CASE("Names: what other tools call the capacity is answered with packline's name") {
  for (const char* name :
       {"max_length", "packing_length", "max_seq_length", "seq_length", "sequence_length",
        "cutoff_len", "block_size", "max_tokens", "max-length", "MAX_LENGTH"}) {
    CAPTURE(name);
    for (const char* section : {"", "pack", "deliver"}) {
      CHECK(unknown_key(section, name).text == "unknown; packline calls it pack.capacity");
    }
  }
}

TEST_CASE("Names: other names that users bring along") {
  const std::pair<const char*, const char*> cases[] = {
      {"num_train_epochs", "epochs"},
      {"batch", "deliver.packs_per_optimizer_step"},
      {"dataset", "sources"},
      {"datasets", "sources"},
      {"data_files", "sources"},
      {"num_proc", "encode.threads"},
      {"num_workers", "encode.threads"},
      {"world_size", "deliver.dp_size"},
      {"nproc", "deliver.dp_size"},
      {"buffer_size", "shuffle.size"},
      {"truncation_strategy", "pack.over_long"},
      {"tokenizer", "encode.model"}};
  for (const auto& [name, path] : cases) {
    CAPTURE(name);
    CHECK(unknown_key("", name).text == std::string("unknown; packline calls it ") + path);
    CHECK(unknown_key("", name).meant == path);
  }
}

TEST_CASE("Names: a key of another section is named with its own") {
  CHECK(unknown_key("", "dp_size").text == "unknown here; packline has it as deliver.dp_size");
  CHECK(unknown_key("pack", "lanes").text == "unknown here; packline has it as lanes");
  CHECK(unknown_key("", "lookahead_pakcs").meant == "pack.lookahead_packs");
  CHECK(contains(unknown_key("", "pack.capacity").text, "maps inside each other"));
  CHECK(contains(unknown_key("", "<<").text, "merge keys"));
}

TEST_CASE("Names: whatever is meant exists, and no real key is taken for unknown elsewhere") {
  for (const Key& key : job_keys()) {
    const std::size_t dot = key.path.rfind('.');
    const std::string name = dot == std::string::npos ? key.path : key.path.substr(dot + 1);
    const std::string meant = unknown_key("nowhere", name).meant;
    CAPTURE(key.path);
    CHECK((find_key(meant) != nullptr || is_section(meant) || is_list_of_sections(meant)));
  }
}

}  // namespace packline::test

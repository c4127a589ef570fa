// The yardstick of bench/delivery: simdjson alone on one core reads every number of a JSONL file of
// {"id", "input_ids", "labels"} that lies in memory already. Prints the tokens, a sum of all
// numbers (so that nothing is optimised away and the caller can check it) and the seconds of
// parsing alone.

#include <simdjson.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string_view>

namespace {

struct Sums {
  std::uint64_t tokens = 0;
  std::int64_t numbers = 0;
};

Sums parse(const simdjson::padded_string& file) {
  simdjson::ondemand::parser parser;
  Sums sums;
  const std::string_view text(file.data(), file.size());
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) end = text.size();
    // The lines behind this one are its padding, the file's own padding is the last line's.
    const simdjson::padded_string_view line(text.data() + begin, end - begin,
                                            text.size() + simdjson::SIMDJSON_PADDING - begin);
    auto record = parser.iterate(line);
    for (std::int64_t id : record["input_ids"].get_array()) {
      sums.numbers += id;
      ++sums.tokens;
    }
    for (std::int64_t label : record["labels"].get_array()) sums.numbers += label;
    begin = end + 1;
  }
  return sums;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fputs("usage: parse_alone FILE\n", stderr);
    return 2;
  }
  const simdjson::padded_string file = simdjson::padded_string::load(argv[1]);
  const auto from = std::chrono::steady_clock::now();
  const Sums sums = parse(file);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  std::printf("{\"tokens\": %llu, \"sum\": %lld, \"seconds\": %.6f}\n",
              static_cast<unsigned long long>(sums.tokens), static_cast<long long>(sums.numbers),
              seconds);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s: %s\n", argv[1], e.what());
  return 3;
}

// The yardstick of the row `text`: the linked sentencepiece library alone, on texts that lie in
// memory already.
//
//   bench_tokenise MODEL FILE THREADS    FILE: texts, each ended by a zero byte
//
// Prints the tokens and the seconds from the first text to the last, loading aside.

#include <sentencepiece_processor.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

std::vector<std::string_view> texts_in(const std::string& file) {
  std::vector<std::string_view> texts;
  for (std::size_t at = 0; at < file.size();) {
    const std::size_t end = file.find('\0', at);
    texts.push_back(std::string_view(file).substr(at, end - at));
    at = end + 1;
  }
  return texts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: bench_tokenise MODEL FILE THREADS\n", stderr);
    return 2;
  }
  sentencepiece::SentencePieceProcessor model;
  const auto loaded = model.Load(argv[1]);
  if (!loaded.ok()) {
    std::fprintf(stderr, "%s: %s\n", argv[1], loaded.ToString().c_str());
    return 3;
  }
  std::ifstream in(argv[2], std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  const std::vector<std::string_view> texts = texts_in(file);

  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint64_t> tokens = 0;
  const auto work = [&] {
    std::vector<int> ids;
    std::uint64_t mine = 0;
    for (std::size_t i = next++; i < texts.size(); i = next++) {
      if (!model.Encode(texts[i], &ids).ok()) std::exit(3);
      mine += ids.size();
    }
    tokens += mine;
  };
  const auto from = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(argv[3]); ++i) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  std::printf("{\"texts\": %zu, \"tokens\": %llu, \"seconds\": %.6f}\n", texts.size(),
              static_cast<unsigned long long>(tokens.load()), seconds);
  return 0;
}

// Makes the index of FILE anew in FOLDER and prints the seconds it took and the records it found.
// With `read` it then reads records at seeded random places and prints records a second.

#include "lib/corpus/index.h"

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "lib/base/random.h"
#include "lib/corpus/line_scan.h"
#include "lib/corpus/source.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

packline::IndexRecipe lines() {
  return {"lines", 0, [](const packline::StreamFile& data, packline::IndexWriter& out) {
            packline::LineScanner scanner;
            const auto stream = packline::open_stream(data, packline::Compression::kNone);
            return packline::scan_records(*stream, data, scanner, out, {});
          }};
}

int reads(const std::string& file, const std::string& folder) {
  packline::SourceSettings settings;
  settings.files = {file};
  const auto source = packline::Source::open(settings, folder);
  if (!source) return 1;
  packline::Rng rng(1);
  std::string scratch;
  constexpr int kReads = 1000000;
  std::uint64_t bytes = 0;
  const auto from = std::chrono::steady_clock::now();
  for (int i = 0; i < kReads; ++i) {
    const auto record = (*source)->read(rng.below((*source)->records()), scratch);
    if (!record) return 1;
    bytes += record->bytes.size();
  }
  fmt::print("{:.0f} random reads/s, {} bytes each\n", kReads / seconds_since(from),
             bytes / kReads);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto from = std::chrono::steady_clock::now();
  const auto index = packline::FileIndex::open(argv[1], argv[2], lines());
  const double took = seconds_since(from);
  if (!index) {
    fmt::print(stderr, "{}\n", index.error().text);
    return static_cast<int>(index.error().code);
  }
  fmt::print("{:.6f} {} {}\n", took, index->entries().size(), index->made() ? "made" : "reused");
  return argc > 3 && std::string(argv[3]) == "read" ? reads(argv[1], argv[2]) : 0;
}

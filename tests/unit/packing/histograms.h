#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lib/base/random.h"

namespace packline::test {

// tests/data/histograms/NAME.csv as counts: element i is the number of samples of i tokens.
inline std::vector<std::uint64_t> read_histogram(const std::string& name) {
  std::ifstream file(std::string(PACKLINE_SOURCE_DIR) + "/tests/data/histograms/" + name + ".csv");
  std::vector<std::uint64_t> counts;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::uint64_t length = 0, count = 0;
    char comma = 0;
    if (!(fields >> length >> comma >> count)) continue;  // the comment and the heading
    counts.resize(length + 1);
    counts[length] = count;
  }
  return counts;
}

// Every length as often as the histogram says, ascending.
inline std::vector<std::uint32_t> expand(const std::vector<std::uint64_t>& counts) {
  std::vector<std::uint32_t> lengths;
  std::uint64_t n = 0;
  for (const std::uint64_t c : counts) n += c;
  lengths.reserve(n);
  for (std::uint32_t length = 0; length < counts.size(); ++length) {
    lengths.insert(lengths.end(), counts[length], length);
  }
  return lengths;
}

inline std::vector<std::uint32_t> shuffled(std::vector<std::uint32_t> lengths, std::uint64_t seed) {
  Rng rng(seed);
  shuffle(lengths, rng);
  return lengths;
}

// n seeded draws without putting back.
inline std::vector<std::uint32_t> draw(const std::vector<std::uint32_t>& lengths, std::uint32_t n,
                                       std::uint64_t seed) {
  std::vector<std::uint32_t> drawn;
  drawn.reserve(n);
  Rng rng(seed);
  std::uint64_t wanted = n, left = lengths.size();
  for (const std::uint32_t length : lengths) {
    if (rng.below(left--) >= wanted) continue;
    drawn.push_back(length);
    --wanted;
  }
  return shuffled(std::move(drawn), seed + 1);
}

struct Golden {
  std::string histogram;
  std::uint32_t capacity = 0;
  std::uint64_t samples = 0, tokens = 0, bins = 0;
};

inline std::vector<Golden> read_golden() {
  std::ifstream file(std::string(PACKLINE_SOURCE_DIR) +
                     "/tests/data/histograms/golden_bfd_counts.csv");
  std::vector<Golden> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    Golden g;
    char comma = 0;
    std::getline(fields, g.histogram, ',');
    if (fields >> g.capacity >> comma >> g.samples >> comma >> g.tokens >> comma >> g.bins) {
      rows.push_back(g);
    }
  }
  return rows;
}

}  // namespace packline::test

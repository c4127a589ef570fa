#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/unit/temp_folder.h"

// A Megatron pair, written as its tools do, and broken where a test wants it.

namespace packline::test {

struct MegatronPair {
  std::string magic = std::string("MMIDIDX\0\0", 9);
  std::uint64_t version = 1;
  std::uint8_t dtype = 4;
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> documents = {0};
  std::string ids, more;  // the .bin; what stands behind the arrays

  template <typename T>
  static std::string bytes_of(const std::vector<T>& v) {
    return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T)};
  }
  template <typename T>
  static std::string bytes_of(T v) {
    return {reinterpret_cast<const char*>(&v), sizeof v};
  }

  template <typename T>
  void add_sequence(const std::vector<T>& tokens) {
    lengths.push_back(static_cast<std::int32_t>(tokens.size()));
    places.push_back(static_cast<std::int64_t>(ids.size()));
    ids += bytes_of(tokens);
  }
  void end_document() { documents.push_back(static_cast<std::int64_t>(lengths.size())); }

  std::string idx() const {
    return magic + bytes_of(version) + bytes_of(dtype) + bytes_of(std::uint64_t{lengths.size()}) +
           bytes_of(std::uint64_t{documents.size()}) + bytes_of(lengths) + bytes_of(places) +
           bytes_of(documents) + more;
  }
  // Gives the path of the .idx.
  std::string write(const TempFolder& folder, const std::string& name = "a") const {
    folder.write(name + ".bin", ids);
    return folder.write(name + ".idx", idx());
  }
};

}  // namespace packline::test

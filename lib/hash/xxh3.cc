#include "lib/hash/xxh3.h"

#include <xxhash.h>

#include "lib/base/check.h"

namespace packline {

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

std::uint64_t xxh3(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}
std::uint64_t xxh3(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

Hasher::Hasher() : state_(std::make_unique<State>()) { reset(); }
Hasher::~Hasher() = default;
void Hasher::reset() { PL_CHECK(XXH3_64bits_reset(state_->xxh) == XXH_OK); }
void Hasher::add(std::span<const std::byte> bytes) {
  PL_CHECK(XXH3_64bits_update(state_->xxh, bytes.data(), bytes.size()) == XXH_OK);
}
void Hasher::add(std::string_view text) { add(std::as_bytes(std::span(text.data(), text.size()))); }
std::uint64_t Hasher::value() const { return XXH3_64bits_digest(state_->xxh); }

}  // namespace packline

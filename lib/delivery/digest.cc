#include "lib/delivery/digest.h"

#include <bit>

#include "lib/hash/xxh3.h"

namespace packline {
namespace {

static_assert(std::endian::native == std::endian::little,
              "columns hold little-endian bytes and are read as they are");

void add_text(Hasher& hasher, std::string_view text) {
  hasher.add(static_cast<std::uint32_t>(text.size()));
  hasher.add(text);
}

void add_field(Hasher& hasher, std::string_view name, std::span<const std::byte> data) {
  add_text(hasher, name);
  hasher.add(static_cast<std::uint64_t>(data.size()));
  hasher.add(data);
}

void add_labels(Hasher& hasher, const Samples& pack) {
  const std::vector<std::int32_t> labels = labels_of(pack);
  add_field(hasher, "labels", std::as_bytes(std::span(labels)));
}

void add_column(Hasher& hasher, const Samples& pack, const Column& c) {
  if (c.kind == ColumnKind::kSpans) {
    const std::vector<std::int32_t> values = values_of_spans(pack, c);
    add_field(hasher, c.name, std::as_bytes(std::span(values)));
    return;
  }
  add_field(hasher, c.name, c.data.bytes());
  if (c.kind != ColumnKind::kPerToken) hasher.add(std::as_bytes(std::span(c.rows)));
}

}  // namespace

std::uint64_t pack_digest(std::uint64_t epoch, std::uint64_t window, std::uint64_t index,
                          const Samples& pack) {
  Hasher hasher;
  hasher.add(epoch);
  hasher.add(window);
  hasher.add(index);
  bool labels = false;
  for (const Column& c : pack.columns) {
    if (!labels && c.name >= "labels") {
      add_labels(hasher, pack);
      labels = true;
    }
    if (c.name != "labels") add_column(hasher, pack, c);
  }
  if (!labels) add_labels(hasher, pack);
  hasher.add(static_cast<std::uint32_t>(pack.size()));
  for (std::size_t i = 0; i < pack.size(); ++i) {
    hasher.add(pack.lengths[i]);
    add_text(hasher, pack.ids[i]);
  }
  return hasher.value();
}

}  // namespace packline

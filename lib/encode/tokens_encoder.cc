#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/buffer.h"
#include "lib/corpus/binary_tokens.h"
#include "lib/encode/builtin.h"

namespace packline {
namespace {

// One block for the data of all columns: a sample costs few allocations, which at this speed tell.
class Block {
 public:
  explicit Block(std::size_t bytes) : bytes_(std::make_shared_for_overwrite<std::byte[]>(bytes)) {}

  template <typename T>
  Buffer add(const std::vector<T>& values) {
    const std::size_t n = values.size() * sizeof(T);
    std::byte* to = bytes_.get() + used_;
    if (n > 0) std::memcpy(to, values.data(), n);
    used_ += n;
    return {bytes_, to, n};
  }

 private:
  std::shared_ptr<std::byte[]> bytes_;
  std::size_t used_ = 0;
};

Column per_token(std::string name, DType dtype, Buffer data) {
  return {std::move(name), dtype, ColumnKind::kPerToken, {}, std::move(data), {}};
}

std::vector<Column> columns_of(const TokenRecord& tokens) {
  const std::size_t n = tokens.input_ids.size();
  Block block(8 * n * tokens.others.size() + 4 * (n + tokens.labels.size() + tokens.spans.size()));
  std::vector<Column> columns;
  columns.reserve(tokens.others.size() + 2);
  for (const TokenColumn& other : tokens.others) {
    columns.push_back(per_token(other.name, other.real ? DType::kF64 : DType::kI64,
                                other.real ? block.add(other.reals) : block.add(other.integers)));
  }
  columns.push_back(per_token("input_ids", DType::kI32, block.add(tokens.input_ids)));
  if (tokens.loss == TokenRecord::Loss::kLabels) {
    columns.push_back(per_token("labels", DType::kI32, block.add(tokens.labels)));
  } else if (tokens.loss == TokenRecord::Loss::kSpans) {
    columns.push_back({"labels",
                       DType::kI32,
                       ColumnKind::kSpans,
                       {},
                       block.add(tokens.spans),
                       {static_cast<std::uint32_t>(tokens.spans.size() / 2)}});
  }
  if (!tokens.others.empty()) {
    std::sort(columns.begin(), columns.end(),
              [](const Column& a, const Column& b) { return a.name < b.name; });
  }
  return columns;
}

// Ids that are binary already: no parsing, one copy.
Encoded encode_binary(const EncodeRequest& request) {
  const std::size_t n = request.bytes.size() / token_bytes(request.form);
  auto ids = std::make_shared_for_overwrite<std::int32_t[]>(n);
  if (std::string wrong = read_tokens(request.bytes, request.form, ids.get()); !wrong.empty()) {
    return lost(RecordLoss::kParse, std::move(wrong));
  }
  Encoded e;
  e.samples.ids.push_back(request.id);
  e.samples.lengths.push_back(static_cast<std::uint32_t>(n));
  const auto* bytes = reinterpret_cast<const std::byte*>(ids.get());
  e.samples.columns.push_back(
      per_token("input_ids", DType::kI32, Buffer{std::move(ids), bytes, n * sizeof(std::int32_t)}));
  return e;
}

// Ready tokens, as they are.
class TokensEncoder final : public Encoder {
 public:
  Encoded encode(const EncodeRequest& request) const override {
    if (token_bytes(request.form) > 0) return encode_binary(request);
    const auto parsed = parse(request);
    if (!parsed) return lost(RecordLoss::kParse, parsed.error().text);
    const TokenRecord& tokens = (*parsed)->tokens;

    Encoded e;
    e.samples.ids.push_back(sample_id(request, **parsed));
    e.samples.lengths.push_back(static_cast<std::uint32_t>(tokens.input_ids.size()));
    e.samples.columns = columns_of(tokens);
    return e;
  }

  std::string identity() const override { return "tokens"; }
};

}  // namespace

std::unique_ptr<Encoder> make_tokens_encoder() { return std::make_unique<TokensEncoder>(); }

}  // namespace packline

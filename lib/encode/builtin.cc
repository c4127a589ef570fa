#include "lib/encode/builtin.h"

#include <fmt/format.h>

#include "lib/base/buffer.h"

namespace packline {

void TokenBuilder::mark(std::uint32_t n, bool loss) {
  if (!loss || n == 0) return;
  const auto at = static_cast<std::uint32_t>(ids_.size());
  if (!spans_.empty() && spans_.back() == at) {
    spans_.back() += n;
  } else {
    spans_.push_back(at);
    spans_.push_back(at + n);
  }
}

Encoded TokenBuilder::take(const EncodeRequest& request, const Record& record, bool supervised) {
  Encoded e;
  e.samples.ids.push_back(sample_id(request, record));
  e.samples.lengths.push_back(static_cast<std::uint32_t>(ids_.size()));
  ids_.shrink_to_fit();
  e.samples.columns.push_back(
      {"input_ids", DType::kI32, ColumnKind::kPerToken, {}, Buffer::of(std::move(ids_)), {}});
  if (!supervised) {
    const auto rows = static_cast<std::uint32_t>(spans_.size() / 2);
    e.samples.columns.push_back(
        {"labels", DType::kI32, ColumnKind::kSpans, {}, Buffer::of(std::move(spans_)), {rows}});
  }
  return e;
}

std::string sample_id(const EncodeRequest& request, const Record& record) {
  if (record.id.empty()) return request.id;
  std::string id;
  id.reserve(record.id.size() + 1 + request.id.size());
  id.append(record.id).append("@").append(request.id);
  return id;
}

Encoded lost(RecordLoss reason, std::string text) {
  Encoded e;
  e.lost = true;
  e.reason = reason;
  e.text = std::move(text);
  return e;
}

Result<const Record*> parse(const EncodeRequest& request) {
  thread_local RecordParser parser;
  if (request.form == RecordForm::kText) return parser.plain_text(request.bytes);
  return parser.parse(request.bytes, request.source->format, request.source->fields);
}

std::string identity_of(const EncodeSettings& settings) {
  return fmt::format("add_bos={} add_eos={} roles={} train={}", settings.add_bos ? 1 : 0,
                     settings.add_eos ? 1 : 0,
                     settings.roles == EncodeSettings::Roles::kText ? "text" : "model",
                     settings.train == EncodeSettings::Train::kAssistant ? "assistant" : "all");
}

}  // namespace packline

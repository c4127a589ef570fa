#include "lib/corpus/record.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/corpus/json_walk.h"
#include "lib/corpus/plain_tokens.h"
#include "lib/corpus/token_arrays.h"
#include "lib/corpus/utf8.h"

namespace packline {
namespace {

using json::check_value;
using json::describe;
using json::not_json;
namespace od = json::od;

constexpr std::size_t kKeptBytes = std::size_t{1} << 20;
constexpr std::size_t kColumnNameMax = 255;  // bytes
constexpr std::size_t kKeysShown = 6;
// A source whose records are not plain is asked again only now and then.
constexpr std::uint32_t kMissesInARow = 8;
constexpr std::uint32_t kMissesBetween = 64;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// What cannot be found by walking over the parsed line, or "".
std::string wrong_bytes(std::string_view bytes) {
  if (bytes.empty()) return "the line is empty";
  if (const auto* nul = static_cast<const char*>(std::memchr(bytes.data(), 0, bytes.size()))) {
    return fmt::format("the line has a NUL byte at byte {}, which is not JSON", nul - bytes.data());
  }
  if (bytes.starts_with(kByteOrderMark)) {
    return "the line begins with a byte order mark, which may stand only where the file begins";
  }
  return {};
}

// A pack has its own bounds: a mask of ones says nothing, and beside packed rows it would be wrong.
std::string drop_attention_mask(std::vector<TokenColumn>& columns) {
  const auto mask = std::find_if(columns.begin(), columns.end(),
                                 [](const TokenColumn& c) { return c.name == "attention_mask"; });
  if (mask == columns.end()) return {};
  const bool padded = mask->real || std::any_of(mask->integers.begin(), mask->integers.end(),
                                                [](std::int64_t v) { return v != 1; });
  columns.erase(mask);
  if (!padded) return {};
  return "attention_mask is not 1 for every token: the record is padded; tokenise without padding";
}

}  // namespace

struct RecordParser::Impl {
  od::parser parser;
  std::string padded;  // the line and the bytes that the parser may read behind it
  Record record;
  std::vector<std::uint32_t> mask;
  std::size_t mask_size = 0;
  bool has_main = false, has_id = false, has_labels = false, has_mask = false;
  std::vector<std::string> unknown;  // the first few keys that nobody asked for
  PlainTokens plain;
  std::uint32_t misses = 0;  // records in a row that were not plain

  void clear();
  void pad(std::string_view bytes);
  bool plain_tokens(std::size_t size, const FieldNames& fields);
  std::string walk(std::string_view bytes, Format format, const FieldNames& fields);
  std::string on_field(std::string_view key, od::value value, Format format,
                       const FieldNames& fields);
  std::string on_id(od::value value);
  std::string on_text(std::string_view key, od::value value);
  std::string on_messages(od::value value, const FieldNames& fields);
  std::string on_turn(od::value value, const FieldNames& fields);
  std::string on_tokens_field(std::string_view key, od::value value, const FieldNames& fields);
  std::string on_other(std::string_view key, od::value value);
  std::string finish_tokens(const FieldNames& fields);
  std::string missing(std::string_view key) const;
};

RecordParser::RecordParser() : impl_(std::make_unique<Impl>()) {}
RecordParser::~RecordParser() = default;

Result<const Record*> RecordParser::parse(std::string_view bytes, Format format,
                                          const FieldNames& fields) {
  if (impl_->padded.size() > kKeptBytes + simdjson::SIMDJSON_PADDING) {
    impl_ = std::make_unique<Impl>();
  }
  impl_->clear();
  impl_->pad(bytes);
  std::string wrong;
  if (format == Format::kTokens && impl_->plain_tokens(bytes.size(), fields)) {
    wrong = impl_->finish_tokens(fields);
  } else if (wrong = wrong_bytes(bytes); wrong.empty()) {
    wrong = impl_->walk(bytes, format, fields);
  }
  if (!wrong.empty()) return fail(ExitCode::kDataRefused, std::move(wrong));
  return &impl_->record;
}

Result<const Record*> RecordParser::plain_text(std::string_view bytes) {
  impl_->clear();
  if (bytes.find('\0') != std::string_view::npos) {
    return fail(ExitCode::kDataRefused,
                fmt::format("the text has a NUL byte at byte {}: it is UTF-16, or no text",
                            bytes.find('\0')));
  }
  if (!simdjson::validate_utf8(bytes.data(), bytes.size())) {
    return fail(ExitCode::kDataRefused,
                fmt::format("the text is not valid UTF-8 at byte {}", first_bad_utf8(bytes)));
  }
  impl_->record.text = bytes;
  return &impl_->record;
}

void RecordParser::Impl::clear() {
  record.id = record.text = {};
  record.turns.clear();
  record.tokens.input_ids.clear();
  record.tokens.loss = TokenRecord::Loss::kNone;
  record.tokens.spans.clear();
  record.tokens.labels.clear();
  record.tokens.others.clear();
  mask.clear();
  has_main = has_id = has_labels = has_mask = false;
  unknown.clear();
}

void RecordParser::Impl::pad(std::string_view bytes) {
  const std::size_t room = bytes.size() + simdjson::SIMDJSON_PADDING;
  if (padded.size() < room) padded.resize(room);
  if (!bytes.empty()) std::memcpy(padded.data(), bytes.data(), bytes.size());
  std::memset(padded.data() + bytes.size(), ' ', simdjson::SIMDJSON_PADDING);
}

bool RecordParser::Impl::plain_tokens(std::size_t size, const FieldNames& fields) {
  static_assert(kPlainPadding <= simdjson::SIMDJSON_PADDING);
  if (misses >= kMissesInARow) {
    ++misses;
    if (misses % kMissesBetween != 0) return false;
  }
  if (!plain.read({padded.data(), size}, fields)) {
    ++misses;
    return false;
  }
  misses = 0;
  record.id = plain.id;
  record.tokens.input_ids.swap(plain.input_ids);
  record.tokens.labels.swap(plain.labels);
  record.tokens.others.swap(plain.others);
  has_main = true;
  has_labels = plain.has_labels;
  has_mask = plain.has_mask;
  mask_size = plain.mask.size();
  json::append_spans(plain.mask, 0, mask);
  return true;
}

std::string RecordParser::Impl::walk(std::string_view bytes, Format format,
                                     const FieldNames& fields) {
  od::document document;
  if (const auto error = parser.iterate(padded.data(), bytes.size(), padded.size()).get(document)) {
    if (error != simdjson::UTF8_ERROR) return not_json(error);
    return fmt::format("the line is not valid UTF-8 at byte {}", first_bad_utf8(bytes));
  }
  od::json_type type;
  if (const auto error = document.type().get(type)) return not_json(error);
  if (type != od::json_type::object) return "the record is not an object in braces";
  od::object object;
  if (const auto error = document.get_object().get(object)) return not_json(error);
  for (auto field : object) {
    std::string_view key;
    od::value value;
    if (const auto error = field.unescaped_key().get(key)) return not_json(error);
    if (const auto error = field.value().get(value)) return not_json(error);
    if (std::string wrong = on_field(key, value, format, fields); !wrong.empty()) return wrong;
  }
  if (document.current_location().error() == simdjson::SUCCESS) {
    return "the line holds something behind its record: JSONL has one record a line";
  }
  if (format == Format::kTokens) return finish_tokens(fields);
  if (!has_main) return missing(format == Format::kText ? fields.text : fields.messages);
  return {};
}

std::string RecordParser::Impl::on_field(std::string_view key, od::value value, Format format,
                                         const FieldNames& fields) {
  auto twice = [&key](bool& seen) {
    return std::exchange(seen, true) ? fmt::format("key \"{}\" stands there twice", key)
                                     : std::string();
  };
  std::string wrong;
  if (key == fields.id) {
    if (wrong = twice(has_id); wrong.empty()) wrong = on_id(value);
  } else if (format == Format::kText && key == fields.text) {
    if (wrong = twice(has_main); wrong.empty()) wrong = on_text(key, value);
  } else if (format == Format::kChat && key == fields.messages) {
    if (wrong = twice(has_main); wrong.empty()) wrong = on_messages(value, fields);
  } else if (format != Format::kTokens) {
    if (unknown.size() < kKeysShown) unknown.emplace_back(json::shortened(key));
    wrong = check_value(value, 1);
  } else {
    bool none = false;
    bool& seen = key == fields.input_ids   ? has_main
                 : key == fields.labels    ? has_labels
                 : key == fields.loss_mask ? has_mask
                                           : none;
    if (wrong = twice(seen); wrong.empty()) wrong = on_tokens_field(key, value, fields);
  }
  return wrong;
}

std::string RecordParser::Impl::on_id(od::value value) {
  od::json_type type;
  if (const auto error = value.type().get(type)) return not_json(error);
  if (type == od::json_type::string) {
    if (const auto error = json::get_text(value, record.id)) return not_json(error);
  } else {
    if (type == od::json_type::number) record.id = json::trimmed(value.raw_json_token());
    if (std::string wrong = check_value(value, 1); !wrong.empty()) return wrong;
  }
  if (record.id.size() <= kRecordIdMax) return {};
  return fmt::format("the record's id has {} bytes, and at most {} are taken", record.id.size(),
                     kRecordIdMax);
}

std::string RecordParser::Impl::on_text(std::string_view key, od::value value) {
  od::json_type type;
  if (value.type().get(type) || type != od::json_type::string) {
    return fmt::format("\"{}\" is {}, not a string", key, describe(value));
  }
  const auto error = json::get_text(value, record.text);
  return error ? not_json(error) : std::string();
}

std::string RecordParser::Impl::on_messages(od::value value, const FieldNames& fields) {
  od::json_type type;
  if (value.type().get(type) || type != od::json_type::array) {
    return fmt::format("\"{}\" is {}, not an array of turns", fields.messages, describe(value));
  }
  od::array array;
  if (const auto error = value.get_array().get(array)) return not_json(error);
  for (auto element : array) {
    od::value turn;
    if (const auto error = std::move(element).get(turn)) return not_json(error);
    if (std::string wrong = on_turn(turn, fields); !wrong.empty()) return wrong;
  }
  if (record.turns.empty()) return fmt::format("\"{}\" has no turn in it", fields.messages);
  return {};
}

std::string RecordParser::Impl::on_turn(od::value value, const FieldNames& fields) {
  auto here = [&](std::string_view what) {
    return fmt::format("turn {} of \"{}\" {}", record.turns.size(), fields.messages, what);
  };
  od::json_type type;
  if (value.type().get(type) || type != od::json_type::object) {
    return here(fmt::format("is {}, not an object", describe(value)));
  }
  od::object object;
  if (const auto error = value.get_object().get(object)) return not_json(error);
  Turn turn;
  bool has_role = false, has_content = false, has_calls = false;
  for (auto field : object) {
    std::string_view key;
    od::value inner;
    if (const auto error = field.unescaped_key().get(key)) return not_json(error);
    if (const auto error = field.value().get(inner)) return not_json(error);
    const bool is_role = key == fields.role;
    if (!is_role && key != fields.content) {
      has_calls |= key == "tool_calls";
      if (std::string wrong = check_value(inner, 3); !wrong.empty()) return wrong;
      continue;
    }
    if (std::exchange(is_role ? has_role : has_content, true)) {
      return here(fmt::format("has \"{}\" twice", key));
    }
    bool null = false;
    if (!is_role && !inner.is_null().get(null) && null) continue;
    if (inner.type().get(type) || type != od::json_type::string) {
      return here(fmt::format("has a \"{}\" that is {}, not a string", key, describe(inner)));
    }
    if (const auto error = json::get_text(inner, is_role ? turn.role : turn.content)) {
      return not_json(error);
    }
  }
  if (!has_role) return here(fmt::format("has no \"{}\"", fields.role));
  if (!has_content && !has_calls) return here(fmt::format("has no \"{}\"", fields.content));
  record.turns.push_back(turn);
  return {};
}

std::string RecordParser::Impl::on_tokens_field(std::string_view key, od::value value,
                                                const FieldNames& fields) {
  TokenRecord& tokens = record.tokens;
  if (key == fields.input_ids) return json::read_int32s(value, key, 0, tokens.input_ids);
  if (key == fields.labels || key == fields.loss_mask) {
    const bool labels = key == fields.labels;
    bool null = false;
    if (!value.is_null().get(null) && null) {
      (labels ? has_labels : has_mask) = false;  // as if it were not there
      return {};
    }
    if (!labels) return json::read_mask(value, key, mask, mask_size);
    return json::read_int32s(value, key, std::numeric_limits<std::int32_t>::min(), tokens.labels);
  }
  return on_other(key, value);
}

std::string RecordParser::Impl::on_other(std::string_view key, od::value value) {
  if (unknown.size() < kKeysShown) unknown.emplace_back(json::shortened(key));
  od::json_type type;
  // The names that the columns of ids and labels get, whatever their keys are.
  const bool reserved = key == "input_ids" || key == "labels";
  if (value.type().get(type) || type != od::json_type::array || reserved || key.empty() ||
      key.size() > kColumnNameMax) {
    return check_value(value, 1);
  }
  TokenColumn column;
  bool numbers = false;
  if (std::string wrong = json::read_numbers(value, column, numbers); !wrong.empty()) return wrong;
  if (!numbers) return {};
  column.name = key;
  record.tokens.others.push_back(std::move(column));
  return {};
}

std::string RecordParser::Impl::finish_tokens(const FieldNames& fields) {
  TokenRecord& tokens = record.tokens;
  if (!has_main) return missing(fields.input_ids);
  const std::size_t n = tokens.input_ids.size();
  auto uneven = [n](std::string_view key, std::size_t size) {
    return fmt::format("{} has {} entries for {} tokens", key, size, n);
  };
  if (has_labels && has_mask) {
    return fmt::format("the record has both {} and {}: keep one of them", fields.labels,
                       fields.loss_mask);
  }
  if (has_labels && tokens.labels.size() != n) return uneven(fields.labels, tokens.labels.size());
  if (has_mask && mask_size != n) return uneven(fields.loss_mask, mask_size);
  if (has_mask) {
    tokens.loss = TokenRecord::Loss::kSpans;
    tokens.spans.swap(mask);
  } else if (has_labels) {
    tokens.loss = json::spans_of(tokens.input_ids, tokens.labels, tokens.spans)
                      ? TokenRecord::Loss::kSpans
                      : TokenRecord::Loss::kLabels;
  }

  std::erase_if(tokens.others, [n](const TokenColumn& c) {
    return n == 0 || (c.real ? c.reals.size() : c.integers.size()) != n;
  });
  if (std::string wrong = drop_attention_mask(tokens.others); !wrong.empty()) return wrong;
  std::sort(tokens.others.begin(), tokens.others.end(),
            [](const TokenColumn& a, const TokenColumn& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < tokens.others.size(); ++i) {
    if (tokens.others[i].name == tokens.others[i - 1].name) {
      return fmt::format("key \"{}\" stands there twice", tokens.others[i].name);
    }
  }
  if (tokens.others.size() > kTokenColumnsMax) {
    return fmt::format("the record has {} arrays as long as {}, and at most {} are taken",
                       tokens.others.size(), fields.input_ids, kTokenColumnsMax);
  }
  return {};
}

std::string RecordParser::Impl::missing(std::string_view key) const {
  std::string has;
  for (const std::string& other : unknown) {
    has += fmt::format("{}\"{}\"", has.empty() ? "" : ", ", other);
  }
  const std::string hint =
      has.empty() ? "" : fmt::format("; the record has {}: name the right one under `fields`", has);
  return fmt::format("key \"{}\" is missing{}", key, hint);
}

}  // namespace packline

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/corpus/source.h"

// The only user of simdjson: a JSON object, or plain text, as the record that its format promises.

namespace packline {

// One turn of a chat. A content of null, or none beside tool calls, is "".
struct Turn {
  std::string_view role;
  std::string_view content;
};

// An array of numbers as long as input_ids, under the name it has in the record.
struct TokenColumn {
  std::string name;
  bool real = false;                   // some value is not an integer of 64 bits
  std::vector<std::int64_t> integers;  // unless real
  std::vector<double> reals;           // when real
};

struct TokenRecord {
  // What the record says of its loss: nothing; spans [begin, end) of tokens whose label is their
  // id, the others' being -100; or any labels.
  enum class Loss : std::uint8_t { kNone, kSpans, kLabels };

  std::vector<std::int32_t> input_ids;
  Loss loss = Loss::kNone;
  std::vector<std::uint32_t> spans;  // begin, end, begin, end, ...; in order, not touching
  std::vector<std::int32_t> labels;
  std::vector<TokenColumn> others;  // in the order of their names
};

// A parsed record. The views point into the parser and the record's own bytes: valid until the next
// parse().
struct Record {
  std::string_view id;      // as a string or as the number was written; "" for none
  std::string_view text;    // Format::kText
  std::vector<Turn> turns;  // Format::kChat; not empty
  TokenRecord tokens;       // Format::kTokens
};

// Parses records, one at a time; a thread has its own. Its memory is a few times the longest record
// of up to 1 MiB; what a longer one took is given back after it.
class RecordParser {
 public:
  RecordParser();
  ~RecordParser();
  RecordParser(const RecordParser&) = delete;
  RecordParser& operator=(const RecordParser&) = delete;

  // The record, valid until the next parse(). The error (kDataRefused) is a sentence about this
  // record that begins with what is wrong with it and does not say where it stands:
  // `input_ids holds 1.5 at place 3, which is not an integer`. The whole line is checked, keys that
  // nobody asked for included: a key twice, bad UTF-8 or what is not JSON is an error everywhere.
  Result<const Record*> parse(std::string_view bytes, Format format, const FieldNames& fields);
  // The same of a record that is plain text: all of it is the text. An error where it is not UTF-8
  // or holds a NUL.
  Result<const Record*> plain_text(std::string_view bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

constexpr std::size_t kRecordIdMax = 1024;    // bytes
constexpr std::size_t kTokenColumnsMax = 64;  // besides input_ids and labels
constexpr std::size_t kNestingMax = 256;      // objects and arrays in each other

}  // namespace packline

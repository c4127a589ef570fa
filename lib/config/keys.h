#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/config/job.h"

// The one table of all keys of a job file. Checks, sentences about unknown keys, effective_yaml and
// the reference file all come from it.

namespace packline {

enum class KeyType : std::uint8_t {
  kInteger,  // decimal, without quotes
  kNumber,   // decimal, may have a fraction
  kBoolean,  // true or false
  kChoice,   // one of `choices`
  kText,     // 1 to `high` bytes
  kEpochs,   // an integer or `continuous`
  kTexts,    // a list of texts
};

// A value of the job file, read as its key's type.
struct KeyValue {
  std::uint64_t integer = 0;  // also the index of a choice; kContinuous for `continuous`
  double number = 0;
  bool truth = false;
  std::string text;
  std::vector<std::string> texts;
};

struct Key {
  std::string path;  // "sources[].weight": [] stands for any index
  KeyType type = KeyType::kText;
  std::string unit;  // "tokens"; empty when the value is a pure number or no number
  double low = 0;    // of integers and numbers, both ends allowed
  double high = 0;   // and the most bytes of a text
  std::vector<std::string> choices;
  bool required = false;
  std::string computed;  // the default in words, where it is no fixed value; "" else
  std::string why;       // one line
  // Puts a value that passed the checks into the job; `i` is the index that [] stands for.
  std::function<void(Job&, std::size_t i, const KeyValue&)> set;
  // The effective value as YAML; "" when there is none.
  std::function<std::string(const Job&, std::size_t i)> get;
};

// In the order of the reference file.
const std::vector<Key>& job_keys();

// nullptr when the table has no such path.
const Key* find_key(std::string_view path);

// What may stand directly inside a section ("" = the top, "pack", "sources[]"), in table order.
std::vector<std::string> names_inside(std::string_view section);

// Whether `path` is a section, that is a map of keys; "sources[]" is one, "sources" is a list of
// it.
bool is_section(std::string_view path);
bool is_list_of_sections(std::string_view path);

// "outer.name", or "name" at the top.
std::string joined(std::string_view outer, std::string_view name);

// The default as YAML, from the defaults of Job itself; "" when required, computed or none.
std::string default_of(const Key& key);

// What is allowed, for a sentence: "an integer from 1 to 4096 (lanes)".
std::string allowed(const Key& key);

// The facts of a key as the reference file has them behind it: "tokens, 1..16777216, default 8192".
std::string facts(const Key& key);

}  // namespace packline

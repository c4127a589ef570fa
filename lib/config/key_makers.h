#pragma once

#include <fmt/format.h>

#include <chrono>
#include <type_traits>
#include <utility>

#include "lib/config/keys.h"
#include "lib/config/yaml_tree.h"

// How a line of the key table is made: each maker takes the member that the key sets, as a function
// (job, i) -> reference, so that value and default have one place: Job.

namespace packline::key_makers {

inline Key base(std::string path, KeyType type, std::string why) {
  Key key;
  key.path = std::move(path);
  key.type = type;
  key.why = std::move(why);
  return key;
}

// low and high are at most 2^63 and compared as doubles only where they are exact.
template <typename Member>
Key integer(std::string path, std::string unit, double low, double high, Member member,
            std::string why) {
  Key key = base(std::move(path), KeyType::kInteger, std::move(why));
  key.unit = std::move(unit);
  key.low = low;
  key.high = high;
  key.set = [member](Job& job, std::size_t i, const KeyValue& v) {
    auto& field = member(job, i);
    field = static_cast<std::remove_reference_t<decltype(field)>>(v.integer);
  };
  key.get = [member](const Job& job, std::size_t i) { return fmt::format("{}", member(job, i)); };
  return key;
}

template <typename Member>
Key number(std::string path, std::string unit, double low, double high, Member member,
           std::string why) {
  Key key = base(std::move(path), KeyType::kNumber, std::move(why));
  key.unit = std::move(unit);
  key.low = low;
  key.high = high;
  key.set = [member](Job& job, std::size_t i, const KeyValue& v) { member(job, i) = v.number; };
  key.get = [member](const Job& job, std::size_t i) { return fmt::format("{}", member(job, i)); };
  return key;
}

template <typename Member>
Key seconds(std::string path, double low, double high, Member member, std::string why) {
  Key key = base(std::move(path), KeyType::kNumber, std::move(why));
  key.unit = "seconds";
  key.low = low;
  key.high = high;
  key.set = [member](Job& job, std::size_t i, const KeyValue& v) {
    member(job, i) = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(v.number));
  };
  key.get = [member](const Job& job, std::size_t i) {
    const double s = std::chrono::duration<double>(member(job, i)).count();
    return fmt::format("{}", s);
  };
  return key;
}

template <typename Member>
Key milliseconds(std::string path, double low, double high, Member member, std::string why) {
  Key key = base(std::move(path), KeyType::kInteger, std::move(why));
  key.unit = "milliseconds";
  key.low = low;
  key.high = high;
  key.set = [member](Job& job, std::size_t i, const KeyValue& v) {
    member(job, i) = std::chrono::milliseconds(v.integer);
  };
  key.get = [member](const Job& job, std::size_t i) {
    return fmt::format("{}", to_ms(member(job, i)));
  };
  return key;
}

template <typename Member>
Key boolean(std::string path, Member member, std::string why) {
  Key key = base(std::move(path), KeyType::kBoolean, std::move(why));
  key.set = [member](Job& job, std::size_t i, const KeyValue& v) { member(job, i) = v.truth; };
  key.get = [member](const Job& job, std::size_t i) {
    return std::string(member(job, i) ? "true" : "false");
  };
  return key;
}

// `choices` in the order of the enumerators, which count from 0.
template <typename Member>
Key choice(std::string path, std::vector<std::string> choices, Member member, std::string why) {
  Key key = base(std::move(path), KeyType::kChoice, std::move(why));
  key.choices = std::move(choices);
  key.set = [member](Job& job, std::size_t i, const KeyValue& v) {
    auto& field = member(job, i);
    field = static_cast<std::remove_reference_t<decltype(field)>>(v.integer);
  };
  key.get = [member, names = key.choices](const Job& job, std::size_t i) {
    return names[static_cast<std::size_t>(member(job, i))];
  };
  return key;
}

template <typename Member>
Key text(std::string path, double bytes_max, Member member, std::string why) {
  Key key = base(std::move(path), KeyType::kText, std::move(why));
  key.low = 1;
  key.high = bytes_max;
  key.set = [member](Job& job, std::size_t i, const KeyValue& v) { member(job, i) = v.text; };
  key.get = [member](const Job& job, std::size_t i) {
    return member(job, i).empty() ? std::string() : yaml_scalar(member(job, i));
  };
  return key;
}

template <typename Member>
Key texts(std::string path, double bytes_max, Member member, std::string why) {
  Key key = base(std::move(path), KeyType::kTexts, std::move(why));
  key.low = 1;
  key.high = bytes_max;
  key.set = [member](Job& job, std::size_t i, const KeyValue& v) { member(job, i) = v.texts; };
  key.get = [member](const Job& job, std::size_t i) {
    std::string list;
    for (const std::string& item : member(job, i)) {
      list += (list.empty() ? "" : ", ") + yaml_scalar(item);
    }
    return list.empty() ? list : "[" + list + "]";
  };
  return key;
}

inline Key required(Key key) {
  key.required = true;
  return key;
}

// The default is no fixed value: `words` say what it is.
inline Key computed(Key key, std::string words) {
  key.computed = std::move(words);
  return key;
}

// The key has a value only where `given` says so.
template <typename Given>
Key where(Key key, Given given) {
  key.get = [get = key.get, given](const Job& job, std::size_t i) {
    return given(job, i) ? get(job, i) : std::string();
  };
  return key;
}

}  // namespace packline::key_makers

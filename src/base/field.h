// An option and the member of a struct that it fills, declared together. The option's type and
// default are the member's own, so that a struct as it is built has the defaults.
#pragma once

#include <algorithm>
#include <charconv>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ovde/error.h>
#include <ovde/option.h>

namespace ovde {

template <typename Struct>
struct Field {
  Option option;
  // How the default follows from other keys, where it is not the option's.
  std::string derived_default = {};
  std::function<OptionValue(const Struct&)> get = {};
  std::function<void(Struct&, const OptionValue&)> set = {};  // a value that check_option() accepts
};

// An option whose numbers, or each in a list, are from low to high.
inline Option number(std::string name, std::string help, double low, double high,
                     OptionValue standard = {}) {
  return {std::move(name), std::move(standard), std::move(help), low, high};
}

template <typename T>
concept Number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

// The number as somebody would write it: 0.1 for 0.1f.
inline double shortest(float x) {
  char text[32];
  const char* end = std::to_chars(text, text + sizeof text, x).ptr;
  double value = 0;
  std::from_chars(text, end, value);
  return value;
}

template <typename T>
OptionValue to_option_value(const T& member) {
  if constexpr (std::is_same_v<T, float>) {
    return shortest(member);
  } else if constexpr (Number<T>) {
    return static_cast<double>(member);
  } else if constexpr (std::is_same_v<T, std::vector<int>>) {
    return std::vector<double>(member.begin(), member.end());
  } else {
    return member;
  }
}

template <typename T>
T from_option_value(const OptionValue& value) {
  if constexpr (Number<T>) {
    return static_cast<T>(std::get<double>(value));
  } else if constexpr (std::is_same_v<T, std::vector<int>>) {
    const auto& list = std::get<std::vector<double>>(value);
    return T(list.begin(), list.end());
  } else {
    return std::get<T>(value);
  }
}

template <typename Struct, typename T>
Field<Struct> field(T Struct::*member, Option option, std::string derived_default = "") {
  option.default_value = to_option_value(Struct{}.*member);
  option.integer = std::is_integral_v<T> || std::is_same_v<T, std::vector<int>>;
  return {
      std::move(option), std::move(derived_default),
      [member](const Struct& from) { return to_option_value(from.*member); },
      [member](Struct& to, const OptionValue& value) { to.*member = from_option_value<T>(value); }};
}

// A field of a struct that is a member of another one.
template <typename Outer, typename Member, typename Inner>
Field<Outer> within(Member Outer::*member, Field<Inner> inner) {
  return {std::move(inner.option), std::move(inner.derived_default),
          [member, get = std::move(inner.get)](const Outer& from) { return get(from.*member); },
          [member, set = std::move(inner.set)](Outer& to, const OptionValue& value) {
            set(to.*member, value);
          }};
}

// An enumeration, whose values name() spells.
template <typename Struct, typename Word>
Field<Struct> field(Word Struct::*member, Option option, std::vector<Word> words,
                    std::string derived_default = "") {
  option.default_value = std::string(name(Struct{}.*member));
  for (const Word word : words) option.choices.push_back(name(word));
  return {std::move(option), std::move(derived_default),
          [member](const Struct& from) { return std::string(name(from.*member)); },
          [member, words](Struct& to, const OptionValue& value) {
            const auto& text = std::get<std::string>(value);
            const auto found = std::ranges::find(words, text, [](Word w) { return name(w); });
            if (found == words.end()) throw Error("nothing is called " + text);
            to.*member = *found;
          }};
}

}  // namespace ovde

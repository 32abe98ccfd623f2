// An option declared together with the struct member that it sets. Type and default are those of
// the member.
#pragma once

#include <charconv>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ovde/option.h>
#include "base/names.h"

namespace ovde {

template <typename Struct>
struct Field {
  Option option;
  // Describes a default that depends on other keys.
  std::string derived_default = {};
  std::function<OptionValue(const Struct&)> get = {};
  std::function<void(Struct&, const OptionValue&)> set = {};  // a value that check_option() accepts
};

// An option whose value, or each element of a list, is between low and high.
inline Option number(std::string name, std::string help, double low, double high,
                     OptionValue standard = {}) {
  return {std::move(name), std::move(standard), std::move(help), low, high};
}

// Bounds of a number.
struct Range {
  double low, high;
  bool operator==(const Range&) const = default;
};

template <typename T>
concept Number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

// The shortest decimal number that rounds to x: 0.1 for 0.1f.
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
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(name(member));
  } else if constexpr (std::is_same_v<T, Range>) {
    if (member.low == member.high) return member.low;
    return std::vector<double>{member.low, member.high};
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
  } else if constexpr (std::is_enum_v<T>) {
    return value_named<T>(std::get<std::string>(value));
  } else if constexpr (std::is_same_v<T, Range>) {
    const auto* const both = std::get_if<std::vector<double>>(&value);
    return both ? Range{both->at(0), both->at(1)}
                : Range{std::get<double>(value), std::get<double>(value)};
  } else {
    return std::get<T>(value);
  }
}

template <typename Struct, typename T>
Field<Struct> field(T Struct::*member, Option option, std::string derived_default = "") {
  option.default_value = to_option_value(Struct{}.*member);
  option.integer |= std::is_integral_v<T> || std::is_same_v<T, std::vector<int>>;
  option.range = std::is_same_v<T, Range>;
  if constexpr (std::is_enum_v<T>) {
    for (const auto& [value, name] : kNames<T>) option.choices.push_back(name);
  }
  return {
      std::move(option), std::move(derived_default),
      [member](const Struct& from) { return to_option_value(from.*member); },
      [member](Struct& to, const OptionValue& value) { to.*member = from_option_value<T>(value); }};
}

// A number, or a list of numbers, in the range.
template <typename Struct, typename T>
Field<Struct> field(T Struct::*member, const char* name, Range range, const char* help,
                    const char* derived_default = "") {
  return field(member, number(name, help, range.low, range.high), derived_default);
}

// Any other option.
template <typename Struct, typename T>
Field<Struct> field(T Struct::*member, const char* name, const char* help,
                    const char* derived_default = "") {
  return field(member, Option{.name = name, .help = help}, derived_default);
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

}  // namespace ovde

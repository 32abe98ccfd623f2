// Names of the values of an enumeration: one table for each, which reads, prints and lists them.
#pragma once

#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include <ovde/error.h>

namespace ovde {

template <typename Enum>
using Names = std::initializer_list<std::pair<Enum, const char*>>;

// Specialised for each enumeration that has names.
template <typename Enum>
inline constexpr Names<Enum> kNames = {};

template <typename Enum>
requires std::is_enum_v<Enum>
const char* name(Enum value) {
  for (const auto& [known, name] : kNames<Enum>) {
    if (known == value) return name;
  }
  throw Error("a value of an enumeration has no name");
}

template <typename Enum>
Enum value_named(const std::string& text) {
  for (const auto& [value, name] : kNames<Enum>) {
    if (name == text) return value;
  }
  throw Error("no value is named " + text);
}

}  // namespace ovde

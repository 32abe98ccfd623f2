// Numbers in text, whatever the locale.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace ovde {

// nullopt unless the whole text is a number of this type.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

// The number in a file's name, between `prefix` and `suffix`; nullopt: it has another name.
inline std::optional<int> number_between(std::string_view name, std::string_view prefix,
                                         std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  if (name.size() < prefix.size() + suffix.size()) return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  return parse_number<int>(name);
}

}  // namespace ovde

// Small functions on text, whatever the locale.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// A line break, a tab, DEL, ...
inline bool is_control(unsigned char c) { return c < ' ' || c == 0x7f; }

// Whether the text has no control character.
inline bool is_one_line(std::string_view text) { return std::ranges::none_of(text, is_control); }

// Without spaces and tabs at both ends.
inline std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// With some characters replaced, as formats escape them.
inline std::string replaced(std::string_view text,
                            std::initializer_list<std::pair<char, const char*>> replacements) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const char* by = nullptr;
    for (const auto& [from, to] : replacements) {
      if (c == from) by = to;
    }
    by == nullptr ? out += c : out += by;
  }
  return out;
}

template <typename List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& each : list) names.push_back(each.name);
  return names;
}

// "1 run", "3 runs"
inline std::string plural(std::int64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

}  // namespace ovde

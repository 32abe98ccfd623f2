// Text with some of its characters replaced, as formats escape them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace ovde {

using Replacements = std::initializer_list<std::pair<char, const char*>>;

inline std::string replaced(std::string_view text, Replacements replacements) {
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

}  // namespace ovde

#include "io/shell.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace ovde {

std::string shell_word(const std::string& word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:=,+@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  return "'" + replaced(word, {{'\'', "'\\''"}}) + "'";
}

std::string ascii_shell_word(const std::string& word) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (std::ranges::all_of(word, printable)) return shell_word(word);
  std::string out = "$'";
  for (const char c : word) {
    if (printable(c) && c != '\'' && c != '\\') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + "'";
}

}  // namespace ovde

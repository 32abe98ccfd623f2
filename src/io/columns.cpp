#include "io/columns.h"

#include <algorithm>

#include <fmt/format.h>

namespace ovde {

namespace {

std::size_t characters(const std::string& text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace

std::string in_columns(const std::vector<std::vector<std::string>>& lines, std::size_t words) {
  std::vector<std::size_t> width(lines.empty() ? 0 : lines.front().size());
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < width.size(); ++c)
      width[c] = std::max(width[c], characters(line[c]));
  }
  std::string out;
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t c = 0; c < width.size(); ++c) {
      text += c < words ? fmt::format("{:<{}}  ", line[c], width[c])
                        : fmt::format("{:>{}}  ", line[c], width[c]);
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace ovde

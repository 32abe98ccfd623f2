#include "io/toml_writer.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/settings.h"

namespace ovde {

std::string toml_comment(const std::string& text) {
  std::string line = "# " + text;
  std::ranges::replace_if(
      line, [](char c) { return c < ' ' || c > '~'; }, '?');
  if (line.size() > kLongestTomlLine) line.replace(kLongestTomlLine - 3, std::string::npos, "...");
  return line + "\n";
}

std::string toml_entry(const std::string& key, const OptionValue& value) {
  const std::string line = fmt::format("{} = {}", key, to_string(value));
  const auto* list = std::get_if<std::vector<double>>(&value);
  if (list == nullptr || line.size() <= kLongestTomlLine) return line + "\n";

  std::vector<std::string> items;
  for (const double x : *list) items.push_back(to_string(x));
  return toml_list(key, items);
}

std::string toml_list(const std::string& key, const std::vector<std::string>& items) {
  return fmt::format("{} = [\n  {}\n]\n", key, fmt::join(items, ",\n  "));
}

}  // namespace ovde

#include "io/settings.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "base/text.h"

namespace ovde {

namespace {

// More forgiving than TOML: ".05" and "5." are numbers too.
std::optional<double> number_from(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number<double>(text);
}

std::optional<std::vector<double>> list_from(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = trimmed(text.substr(1, text.size() - 2));
  std::vector<double> list;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto number = number_from(text.substr(0, comma));
    if (!number) return std::nullopt;
    list.push_back(*number);
    text = comma == std::string_view::npos ? std::string_view() : trimmed(text.substr(comma + 1));
  }
  return list;
}

}  // namespace

OptionValue parse_value(const std::string& text) {
  const std::string_view word = trimmed(text);
  if (word == "true") return true;
  if (word == "false") return false;
  if (const auto number = number_from(word)) return *number;
  if (const auto list = list_from(word)) return *list;
  const bool quoted = word.size() >= 2 && word.front() == word.back() &&
                      (word.front() == '"' || word.front() == '\'');
  return std::string(quoted ? word.substr(1, word.size() - 2) : word);
}

Setting parse_assignment(const std::string& assignment, const std::string& where) {
  const auto equals = assignment.find('=');
  const std::string key(trimmed(std::string_view(assignment).substr(0, equals)));
  if (equals == std::string::npos || key.empty()) {
    throw InputError(fmt::format("{} {}: must have the form table.key=value", where, assignment));
  }
  return {key, parse_value(assignment.substr(equals + 1)), where};
}

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

// Lines of a CSV file, as spreadsheets and data frames write them.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace ovde {

// The fields of a line; a quoted one may have commas, and quotes as two.
std::vector<std::string> split_csv(const std::string& line);

// nullopt unless the whole field is such a number.
template <typename T>
std::optional<T> parse_field(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace ovde

// CSV files with a header line, as spreadsheets and data frames write them.
#pragma once

#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace ovde {

class CsvReader {
 public:
  // Reads the header. `name` is the file's, for messages. InputError if a column is named twice.
  CsvReader(const std::string& text, std::string name);

  const std::vector<std::string>& header() const { return header_; }
  std::optional<std::size_t> column(const std::string& name) const;

  // Reads the next line that is not empty; false at the end. InputError unless it has as many
  // fields as the header.
  bool next();
  const std::string& field(std::size_t column) const { return fields_[column]; }
  // nullopt unless the whole field is a number of this type.
  template <typename T>
  std::optional<T> number(std::size_t column) const {
    return parse_number<T>(fields_[column]);
  }

  // InputError with the file's name and the number of the current line.
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  bool read_line(std::string& line);
  std::vector<std::string> split(const std::string& line) const;

  std::string name_;
  std::istringstream lines_;
  int line_ = 0;
  std::vector<std::string> header_, fields_;
};

// Text as a field, in quotes where it needs them.
std::string csv_field(const std::string& text);

template <typename T>
std::string csv_field(const T& number) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(number)) return "";
  }
  return fmt::format("{}", number);
}
inline std::string csv_field(const char* text) { return csv_field(std::string(text)); }
template <typename T>
std::string csv_field(const std::optional<T>& value) {
  return value ? csv_field(*value) : "";
}

// A line of texts and numbers. NaN and an empty optional are empty fields.
template <typename... Values>
std::string csv_line(const Values&... values) {
  std::string line;
  ((line += csv_field(values) + ","), ...);
  line.back() = '\n';
  return line;
}

}  // namespace ovde

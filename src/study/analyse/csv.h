// CSV files with a header line, as spreadsheets and data frames write them.
#pragma once

#include <charconv>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/parse_number.h"

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

}  // namespace ovde

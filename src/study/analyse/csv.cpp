#include "study/analyse/csv.h"

#include <algorithm>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/text.h"

namespace ovde {

CsvReader::CsvReader(const std::string& text, std::string name)
    : name_(std::move(name)), lines_(text) {
  std::string line;
  read_line(line);
  if (line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // a byte order mark
  header_ = split(line);
  for (const std::string& column : header_) {
    if (std::ranges::count(header_, column) > 1)
      refuse(fmt::format("the column '{}' appears twice", column));
  }
}

std::optional<std::size_t> CsvReader::column(const std::string& name) const {
  const auto found = std::ranges::find(header_, name);
  return found == header_.end() ? std::nullopt : std::optional(found - header_.begin());
}

bool CsvReader::next() {
  std::string line;
  do {
    if (!read_line(line)) return false;
  } while (line.empty());
  fields_ = split(line);
  if (fields_.size() != header_.size()) {
    refuse(fmt::format("has {}, the first line {}", plural(std::ssize(fields_), "field"),
                       header_.size()));
  }
  return true;
}

void CsvReader::refuse(const std::string& why) const {
  throw InputError(fmt::format("{}:{}: {}", name_, line_, why));
}

bool CsvReader::read_line(std::string& line) {
  ++line_;
  if (!std::getline(lines_, line)) return false;
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

std::vector<std::string> CsvReader::split(const std::string& line) const {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  if (quoted) refuse("a quote is not closed");
  return fields;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return '"' + replaced(text, {{'"', "\"\""}}) + '"';
}

}  // namespace ovde

// Settings: values with their keys and where they were given, from TOML text and "key=value"
// arguments. Which keys exist is in config/config.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ovde/option.h>

namespace ovde {

struct Setting {
  std::string key;  // "train.batch"
  OptionValue value;
  std::string where;      // "my.toml:3", "--set": messages about it begin with this
  bool is_table = false;  // an empty table: the key is its name, and there is no value
};

constexpr std::size_t kLongestTomlLine = 4096;

// Every value of a TOML text, tables flattened to dotted keys, and its tables without keys.
// InputError with file and line where the text is not TOML, a line is longer than kLongestTomlLine,
// or no key takes values of that kind.
std::vector<Setting> parse_toml(const std::string& text, const std::string& file_name);

// A value on a command line: as in TOML, or a bare word, which is a string (gradient=full).
OptionValue parse_value(const std::string& text);

// "train.batch=64"
Setting parse_assignment(const std::string& assignment, const std::string& where);

// ---- lines of TOML files, none longer than kLongestTomlLine

// "# text" in printable ASCII, cut where it would be too long.
std::string toml_comment(const std::string& text);

// "key = value"; a list that is too long for one line has a line for each number.
std::string toml_entry(const std::string& key, const OptionValue& value);

// A list with a line for each item.
std::string toml_list(const std::string& key, const std::vector<std::string>& items);

}  // namespace ovde

// Lines of the TOML files that this program writes. None is longer than its own reader takes.
#pragma once

#include <string>
#include <vector>

#include <ovde/option.h>

namespace ovde {

// "# text": one line of printable ASCII, cut where it would be too long.
std::string toml_comment(const std::string& text);

// "key = value"; a list that would be too long for one line has a line for each number.
std::string toml_entry(const std::string& key, const OptionValue& value);

// A list with a line for each item.
std::string toml_list(const std::string& key, const std::vector<std::string>& items);

}  // namespace ovde

// Text in columns, as a console shows a table.
#pragma once

#include <string>
#include <vector>

namespace ovde {

// A line for each, of as many cells as the first has: columns two spaces apart, the first `words`
// of them flush left, the others right. UTF-8.
std::string in_columns(const std::vector<std::vector<std::string>>& lines, std::size_t words);

}  // namespace ovde

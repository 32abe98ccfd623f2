// Text in columns, as a console shows a table.
#pragma once

#include <string>
#include <vector>

namespace ovde {

// Lines of UTF-8 cells, all of one number: columns are two spaces apart, the first `words` of them
// aligned to the left, the others to the right.
std::string in_columns(const std::vector<std::vector<std::string>>& lines, std::size_t words);

}  // namespace ovde

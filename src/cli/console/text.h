// Text for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace ovde {

// The text with control characters written as \xNN, so that names, logs and notes cannot send
// terminal escapes. `keep`: control characters that stay.
std::string printable(std::string_view text, std::string_view keep = "");

// Prints printable text to standard output. Line breaks of the format and of its values stay.
void print_text(const std::string& text);
template <typename... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
  print_text(fmt::format(format, std::forward<Values>(values)...));
}

std::string format_duration(double seconds);  // "0:07", "3:00:00"

}  // namespace ovde

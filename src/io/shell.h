// Quoting of words for a POSIX shell.
#pragma once

#include <string>

namespace ovde {

// In quotes, unless it has no characters that a shell interprets.
std::string shell_word(const std::string& word);

// The same in ASCII, with other bytes as $'\xff'.
std::string ascii_shell_word(const std::string& word);

}  // namespace ovde

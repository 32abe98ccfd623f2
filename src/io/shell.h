// Words as a POSIX shell needs them typed.
#pragma once

#include <string>

namespace ovde {

// As it is where nothing in it means anything to a shell, otherwise in quotes.
std::string shell_word(const std::string& word);

// The same in ASCII alone, for which shells have $'\xff'.
std::string ascii_shell_word(const std::string& word);

}  // namespace ovde

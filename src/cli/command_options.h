// The commands and their options, declared to the command-line library. command_line.cpp parses
// with them; no other file includes that library, whose header is large.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace CLI {
class App;
}

namespace ovde::cli {

// By name: returns the command with the values that were parsed.
using ParsedCommands = std::map<std::string, std::function<Command()>>;

ParsedCommands add_commands(CLI::App& app);

// InputError that names the nearest valid word. `command`: its --help lists them. `also`: words
// that are accepted, but not listed.
[[noreturn]] void refuse_word(const std::string& kind, const std::string& word,
                              const std::vector<std::string>& valid, const std::string& command,
                              const std::vector<std::string>& also = {});

}  // namespace ovde::cli

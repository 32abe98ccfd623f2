// The kind of processor that a study was begun on. A program that was compiled for the machine it
// was built on may compute the last bits of a result differently elsewhere, if it runs there at
// all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ovde {

// Notes the processor of this machine in the study's folder, where none is noted. What a person
// should know if another one is.
std::optional<std::string> check_processor(const std::filesystem::path& study);

}  // namespace ovde
